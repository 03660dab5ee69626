//! Sets of ground truth of all kinds: a folder comes in, what its rows came to and how it is told go
//! out.

use std::path::{Path, PathBuf};

use super::{Comparison, Jobs, nanopu, pspin, table};
use pinion_app::error::{Error, Result};

/// Names the folders that come with the project, below `tests/calibration`.
const KNOWN: [&str; 4] = ["pspin", "pspin2", "pspin-apps", "nanopu"];

/// Names a folder of ground truth, by what is in it.
#[derive(Debug, Clone)]
pub enum Set {
    /// Small programs on PsPIN.
    Rows(pspin::set::Set),
    /// Applications on PsPIN.
    Applications(pspin::applications::Set),
    /// Scenarios of a nanoPU node.
    Scenarios(nanopu::set::Set),
}

impl Set {
    /// Opens a folder.
    ///
    /// # Errors
    /// When it holds no set of any kind.
    pub fn open(dir: &Path) -> Result<Self> {
        if nanopu::set::Set::recognises(dir) {
            return nanopu::set::Set::open(dir).map(Self::Scenarios);
        }
        if pspin::applications::Set::recognises(dir) {
            return pspin::applications::Set::open(dir).map(Self::Applications);
        }
        pspin::set::Set::open(dir).map(Self::Rows)
    }

    /// Opens the sets that come with the project, found from the executable or the current folder
    /// upwards.
    ///
    /// # Errors
    /// When there are none.
    pub fn known() -> Result<Vec<Self>> {
        let here = std::env::current_dir().ok();
        let mut roots: Vec<PathBuf> = pinion_app::assets::repository().into_iter().collect();
        roots.extend(here.iter().flat_map(|dir| dir.ancestors().map(Path::to_owned)));
        let mut folders = roots.iter().map(|root| root.join("tests/calibration"));
        let Some(folder) = folders.find(|folder| folder.join(KNOWN[0]).is_dir()) else {
            let problem = "there is no tests/calibration here or above; run in the repository or \
                           give --set DIR";
            return Err(Error::Usage(problem.to_owned()));
        };
        KNOWN.iter().map(|name| Self::open(&folder.join(name))).collect()
    }

    /// Gives the folder.
    pub fn dir(&self) -> &Path {
        match self {
            Self::Rows(set) => set.dir(),
            Self::Applications(set) => set.dir(),
            Self::Scenarios(set) => set.dir(),
        }
    }

    /// Gives the folder's own name.
    pub fn name(&self) -> String {
        let dir = self.dir().canonicalize().unwrap_or_else(|_| self.dir().to_owned());
        dir.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned())
    }

    /// Tells whether some row's name contains `filter`.
    pub fn has(&self, filter: &str) -> bool {
        match self {
            Self::Rows(set) => set.rows(Some(filter)).is_ok(),
            Self::Applications(set) => set.runs(Some(filter)).is_ok(),
            Self::Scenarios(set) => set.scenarios(Some(filter)).is_ok(),
        }
    }

    /// Compares every row whose name contains `filter`, `jobs` at a time.
    ///
    /// # Errors
    /// When the set is unreadable, or a row cannot be run at all.
    pub fn compare<'a>(
        &self,
        filter: Option<&str>,
        jobs: impl Into<Jobs<'a>>,
    ) -> Result<Vec<Comparison>> {
        let machine = || pinion_app::machine::load::<pinion_spin::Machine>("pspin", &[], true);
        match self {
            Self::Rows(set) => pspin::compare(set, &machine()?.value, filter, jobs),
            Self::Applications(set) => {
                pspin::applications::compare(set, &machine()?.value, filter, jobs)
            }
            Self::Scenarios(set) => {
                nanopu::compare(set, &nanopu::model::Model::load()?, filter, jobs)
            }
        }
    }

    /// Writes a comparison for a terminal; of scenarios `every` number, or a line each.
    pub fn text(&self, comparisons: &[Comparison], every: bool) -> String {
        match self {
            Self::Rows(_) | Self::Applications(_) => {
                table::text(comparisons) + &self.verdict(comparisons)
            }
            Self::Scenarios(_) if every => nanopu::table::every_number(comparisons),
            Self::Scenarios(_) => nanopu::table::text(comparisons),
        }
    }

    /// Writes a comparison as Markdown.
    pub fn markdown(&self, comparisons: &[Comparison]) -> String {
        match self {
            Self::Rows(_) | Self::Applications(_) => {
                table::markdown(comparisons) + "\n" + &self.verdict(comparisons)
            }
            Self::Scenarios(_) => nanopu::table::markdown(comparisons),
        }
    }

    /// Says in a line how a comparison went.
    pub fn verdict(&self, comparisons: &[Comparison]) -> String {
        match self {
            Self::Rows(_) => table::verdict(comparisons, "rows within 5 % or 2 ns"),
            Self::Applications(_) => table::verdict(
                comparisons,
                "runs within 5 % of their duration and, per packet, 3 % (spread) or 5 % (burst)",
            ),
            Self::Scenarios(_) => nanopu::table::verdict(comparisons),
        }
    }
}
