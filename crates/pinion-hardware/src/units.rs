//! The SystemVerilog of the units that Pinion comes with.

use pinion_spin::hardware::Unit;

/// A file's name and its text.
pub type File = (&'static str, &'static str);

macro_rules! rtl {
    ($($path:literal as $name:literal),* $(,)?) => {
        /// All files that units' modules are in.
        pub const FILES: &[File] =
            &[$(($name, include_str!(concat!("../../../hardware/rtl/", $path)))),*];
    };
}

rtl! {
    "common/first_one.sv" as "first_one.sv",
    "common/free_list.sv" as "free_list.sv",
    "common/queue.sv" as "queue.sv",
    "common/round_robin.sv" as "round_robin.sv",
    "spin/cluster_scheduler.sv" as "cluster_scheduler.sv",
    "spin/command_unit.sv" as "command_unit.sv",
    "spin/dispatcher.sv" as "dispatcher.sv",
    "spin/mpq_engine.sv" as "mpq_engine.sv",
    "spin/mpq_queue.sv" as "mpq_queue.sv",
    "spin/packet_ring.sv" as "packet_ring.sv",
}

/// Gives the text of a unit's module.
pub fn text(unit: Unit) -> &'static str {
    let name = format!("{}.sv", unit.name());
    FILES.iter().find(|(file, _)| *file == name).map_or("", |(_, text)| text)
}

/// Says what a unit that hardware can stand for does.
const fn what(unit: Unit) -> &'static str {
    match unit {
        Unit::MpqEngine => "a queue per message: header before payload before completion",
        Unit::Dispatcher => "the cluster of each task",
        Unit::ClusterScheduler => "room in L1, the copy, an idle HPU; one in each cluster",
        Unit::CommandUnit => "whose command goes to which interface",
    }
}

/// Lists units and what they do.
pub fn list() -> Vec<Vec<String>> {
    Unit::ALL.map(|unit| vec![unit.name().to_owned(), what(unit).to_owned()]).into()
}

/// Says whether a module that Pinion comes with has this name.
pub fn is_module(name: &str) -> bool {
    FILES.iter().any(|(file, _)| file.strip_suffix(".sv") == Some(name))
}

/// Finds the unit of a name.
pub fn find(name: &str) -> Option<Unit> {
    Unit::ALL.into_iter().find(|unit| unit.name() == name)
}

/// Lists the units that hardware can stand for.
pub fn names() -> String {
    Unit::ALL.map(Unit::name).join(", ")
}
