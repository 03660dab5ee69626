//! Options of a verb that are put together only when the verb is given.

use std::ops::{Deref, DerefMut};

use clap::builder::{Resettable, StyledStr};
use clap::error::Error;
use clap::{ArgMatches, Args, Command, FromArgMatches};

/// Holds a verb's arguments. Twenty verbs have four hundred options, of which a run needs those of one:
/// describing all took a third of the instructions of the command's start. Not for a verb that has verbs
/// of its own: shells would not complete `pinion help VERB`.
#[derive(Debug)]
pub struct Later<T>(Box<T>);

impl<T> Deref for Later<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Later<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T: Args> Args for Later<T> {
    fn augment_args(verb: Command) -> Command {
        verb.defer(|verb| keeping_its_words(verb, T::augment_args))
    }

    fn augment_args_for_update(verb: Command) -> Command {
        verb.defer(|verb| keeping_its_words(verb, T::augment_args_for_update))
    }
}

/// Adds arguments to a verb; what the verb says of itself stays, whatever stands above the arguments.
fn keeping_its_words(verb: Command, add: fn(Command) -> Command) -> Command {
    let (about, long) = (verb.get_about().cloned(), verb.get_long_about().cloned());
    let keep = |words: Option<StyledStr>| words.map_or(Resettable::Reset, Resettable::Value);
    add(verb).about(keep(about)).long_about(keep(long))
}

impl<T: FromArgMatches> FromArgMatches for Later<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches(matches).map(|args| Self(Box::new(args)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}
