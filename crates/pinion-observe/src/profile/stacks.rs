//! Who called whom: the functions that a hart is inside, as it calls and returns.

use rustc_hash::FxHashMap as HashMap;

/// Tells what an instruction does to the stack of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// It calls.
    Call,
    /// It returns.
    Return,
    /// Neither.
    Straight,
}

/// A function inside a chain of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// Number of the chain that called it; the root is its own.
    pub parent: u32,
    /// Number of the function.
    pub function: u32,
}

/// Holds the chains of calls that came, as a tree.
#[derive(Clone, Debug)]
pub struct Stacks {
    nodes: Vec<Node>,
    children: HashMap<(u32, u32), u32>,
}

/// The chain without a call.
pub const ROOT: u32 = 0;

impl Stacks {
    /// Makes a tree of its root alone.
    pub fn new() -> Self {
        let root = Node { parent: ROOT, function: u32::MAX };
        Self { nodes: vec![root], children: HashMap::default() }
    }

    /// Gives the chain that is one call longer.
    pub fn child(&mut self, parent: u32, function: u32) -> u32 {
        let next = self.nodes.len() as u32;
        let number = *self.children.entry((parent, function)).or_insert(next);
        if number == next {
            self.nodes.push(Node { parent, function });
        }
        number
    }

    /// Gives the chain of a hart that comes from `from` by `flow` into `function`.
    pub fn step(&mut self, from: u32, flow: Flow, function: u32) -> u32 {
        let Node { parent, function: before } = self.nodes[from as usize];
        match flow {
            Flow::Call => self.child(from, function),
            _ if before == function => from,
            Flow::Return => {
                let mut at = parent;
                while at != ROOT && self.nodes[at as usize].function != function {
                    at = self.nodes[at as usize].parent;
                }
                if at == ROOT { self.child(ROOT, function) } else { at }
            }
            // A tail call, or code that runs from one function into the next.
            Flow::Straight => self.child(parent, function),
        }
    }

    /// Lists a chain's functions, the outermost first.
    pub fn functions(&self, mut chain: u32) -> Vec<u32> {
        let mut functions = Vec::new();
        while chain != ROOT {
            let Node { parent, function } = self.nodes[chain as usize];
            functions.push(function);
            chain = parent;
        }
        functions.reverse();
        functions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_returns_and_tail_calls_are_followed() {
        let mut stacks = Stacks::new();
        let main = stacks.child(ROOT, 1);
        assert_eq!(stacks.step(main, Flow::Straight, 1), main);
        let called = stacks.step(main, Flow::Call, 2);
        let deeper = stacks.step(called, Flow::Call, 2);
        assert_eq!(stacks.functions(deeper), [1, 2, 2], "a function that calls itself");
        let tail = stacks.step(deeper, Flow::Straight, 3);
        assert_eq!(stacks.functions(tail), [1, 2, 3]);
        assert_eq!(stacks.step(tail, Flow::Return, 1), main, "over a caller that did not wait");
        assert_eq!(stacks.functions(stacks.nodes.len() as u32 - 1), [1, 2, 3]);
        let lost = stacks.step(main, Flow::Return, 9);
        assert_eq!(stacks.functions(lost), [9], "a return to where nobody called");
    }
}
