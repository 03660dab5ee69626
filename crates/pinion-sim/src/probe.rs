//! The probe: what the units of a machine say happened, and who hears it. In: one typed, timed event
//! after the other. Out: the same, to whoever listens. Holds nothing.
//!
//! Each kind of machine has a [`Vocabulary`]: what its units can say, and what a listener has to ask for
//! so that the machine makes it at all. Everything that looks at a run [`Hears`] it: statistics,
//! captures, traces, profiles, the conservation check; none of them changes what happens. [`Deaf`] hears
//! any machine, and costs nothing.
//!
//! ```
//! use pinion_sim::probe::{Both, Deaf, Hears, Vocabulary};
//!
//! /// What a lamp can say: when, and what.
//! struct Lamp;
//! impl Vocabulary for Lamp {
//!     type Event<'a> = (u64, &'a str);
//!     type Interest = ();
//! }
//!
//! #[derive(Default)]
//! struct Count(u64);
//! impl Hears<Lamp> for Count {
//!     fn hear(&mut self, _: &(u64, &str)) {
//!         self.0 += 1;
//!     }
//! }
//!
//! fn switch_on(listener: &mut impl Hears<Lamp>) {
//!     listener.hear(&(7, "on"));
//! }
//!
//! let mut one = Count::default();
//! let mut listeners = Both::new(&mut one, Both::new(Count::default(), Deaf));
//! switch_on(&mut listeners);
//! assert_eq!((listeners.first.0, listeners.second.first.0), (1, 1));
//! ```

/// What the units of a kind of machine can say.
pub trait Vocabulary {
    /// One thing that happened, with its time; it may borrow from the machine.
    type Event<'a>;

    /// What a listener wants to hear beside what is always said.
    type Interest: Interest<Self>;
}

/// What a listener wants to hear beside what is always said; nothing unless it says so.
pub trait Interest<V: Vocabulary + ?Sized>: Copy + Default {
    /// Gives what either of two wants.
    #[must_use]
    fn with(self, other: Self) -> Self;

    /// Tells whether an event is among it, or is always said.
    fn wants(&self, event: &V::Event<'_>) -> bool;
}

/// Everything is always said.
impl<V: Vocabulary> Interest<V> for () {
    fn with(self, (): Self) -> Self {}

    fn wants(&self, _: &V::Event<'_>) -> bool {
        true
    }
}

/// Hears what happens in a kind of machine.
pub trait Hears<V: Vocabulary> {
    /// Says what to tell beside what is always said; asked once whenever the machine is run.
    fn interest(&self) -> V::Interest {
        V::Interest::default()
    }

    /// Hears one event. Those of one unit come in order of time.
    fn hear(&mut self, event: &V::Event<'_>);
}

/// Hears nothing, of any machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Deaf;

impl<V: Vocabulary> Hears<V> for Deaf {
    #[inline]
    fn hear(&mut self, _: &V::Event<'_>) {}
}

/// Two that hear the same run, each what it is interested in; the first first.
pub struct Both<V: Vocabulary, A, B> {
    /// Hears first.
    pub first: A,
    /// Hears then.
    pub second: B,
    interests: [V::Interest; 2],
}

impl<V: Vocabulary, A: Hears<V>, B: Hears<V>> Both<V, A, B> {
    /// Puts two together.
    pub fn new(first: A, second: B) -> Self {
        let interests = [first.interest(), second.interest()];
        Self { first, second, interests }
    }
}

impl<V: Vocabulary, A: Hears<V>, B: Hears<V>> Hears<V> for Both<V, A, B> {
    fn interest(&self) -> V::Interest {
        self.interests[0].with(self.interests[1])
    }

    #[inline]
    fn hear(&mut self, event: &V::Event<'_>) {
        if self.interests[0].wants(event) {
            self.first.hear(event);
        }
        if self.interests[1].wants(event) {
            self.second.hear(event);
        }
    }
}

impl<V: Vocabulary, L: Hears<V> + ?Sized> Hears<V> for &mut L {
    fn interest(&self) -> V::Interest {
        (**self).interest()
    }

    #[inline]
    fn hear(&mut self, event: &V::Event<'_>) {
        (**self).hear(event);
    }
}

impl<V: Vocabulary, L: Hears<V> + ?Sized> Hears<V> for Box<L> {
    fn interest(&self) -> V::Interest {
        (**self).interest()
    }

    #[inline]
    fn hear(&mut self, event: &V::Event<'_>) {
        (**self).hear(event);
    }
}
