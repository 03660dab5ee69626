//! Who knows of what: a vector clock for each HPU. What an HPU did until it let others know of it is one
//! number of its clock; another HPU that knows a number knows all before it.

/// Holds the HPUs' clocks.
pub struct Clocks {
    hpus: usize,
    /// By HPU: what it knows of each.
    known: Vec<u32>,
}

/// What an HPU knew when it let others know.
pub type Knowledge = Box<[u32]>;

impl Clocks {
    /// Makes the clocks of so many HPUs, which know of each other's beginning.
    pub fn new(hpus: usize) -> Self {
        let mut known = vec![0; hpus * hpus];
        known.iter_mut().step_by(hpus + 1).for_each(|own| *own = 1);
        Self { hpus, known }
    }

    /// Counts the HPUs.
    pub const fn count(&self) -> usize {
        self.hpus
    }

    /// Gives what an HPU knows.
    #[inline]
    pub fn of(&self, hpu: usize) -> &[u32] {
        &self.known[hpu * self.hpus..(hpu + 1) * self.hpus]
    }

    /// Gives an HPU's own number.
    #[inline]
    pub fn own(&self, hpu: usize) -> u32 {
        self.known[hpu * self.hpus + hpu]
    }

    /// Tells whether an HPU knows what another did at a number of its clock.
    #[inline]
    pub fn knows(&self, hpu: usize, other: usize, number: u32) -> bool {
        self.known[hpu * self.hpus + other] >= number
    }

    /// Begins the next number of an HPU's clock.
    #[inline]
    pub fn tick(&mut self, hpu: usize) {
        self.known[hpu * self.hpus + hpu] += 1;
    }

    /// Lets an HPU know what another knew.
    #[inline]
    pub fn learn(&mut self, hpu: usize, knowledge: &[u32]) {
        let known = &mut self.known[hpu * self.hpus..(hpu + 1) * self.hpus];
        join(known, knowledge);
    }

    /// Makes the knowledge of nothing.
    pub fn nothing(&self) -> Knowledge {
        vec![0; self.hpus].into_boxed_slice()
    }
}

/// Adds what one knew to what another knows.
#[inline]
pub fn join(known: &mut [u32], more: &[u32]) {
    for (known, more) in known.iter_mut().zip(more) {
        *known = (*known).max(*more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knowledge_is_passed_on() {
        let mut clocks = Clocks::new(3);
        let first = clocks.own(0);
        assert!(!clocks.knows(1, 0, first), "nobody told it");
        let told = clocks.of(0).to_vec();
        clocks.tick(0);
        clocks.learn(1, &told);
        assert!(clocks.knows(1, 0, first));
        assert!(!clocks.knows(1, 0, clocks.own(0)), "that came after");
        let passed = clocks.of(1).to_vec();
        clocks.learn(2, &passed);
        assert!(clocks.knows(2, 0, first));
    }
}
