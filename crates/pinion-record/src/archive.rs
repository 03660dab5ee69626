//! A recording as a file: a tar archive, so that everything in it can be looked at without Pinion.

use std::fs::{self, File};
use std::io::{BufReader, BufWriter, ErrorKind, Read, Write as _};
use std::path::{Component, Path, PathBuf};

use pinion_app::error::{Error, Result};
use pinion_app::tape;
use pinion_output::{OutputFile, Partial};
use tar::{Archive, Builder, EntryType, Header};

use crate::checksums::{self, Checksums, Sum, Summed};

/// Ends the name of a recording whose run goes on.
const UNFINISHED: &str = ".unfinished";

/// Writes an archive.
pub struct Writer {
    place: Place,
    target: PathBuf,
}

/// Where what is written goes first.
enum Place {
    /// An archive under a temporary name.
    Archive(Builder<BufWriter<OutputFile>>, Partial, Checksums),
    /// A folder beside it, which becomes an archive at the end.
    Folder(Unfinished),
}

/// A folder that is there as long as its recording is not.
struct Unfinished {
    folder: PathBuf,
    /// Names of what is in it, in order.
    names: Vec<String>,
    /// What files add up to that are written at once; those that grow say it themselves.
    sums: Checksums,
    is_done: bool,
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // What came in before a run failed is worth to be kept; a run that never began is not.
        if self.is_done || !tape::trim(&self.folder).is_ok_and(|slices| slices > 0) {
            // Nobody is left to tell.
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

impl Writer {
    /// Creates the file.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn create(target: &Path) -> Result<Self> {
        let (file, partial) = Partial::create(target)?;
        let builder = Builder::new(BufWriter::new(file));
        let place = Place::Archive(builder, partial, Checksums::default());
        Ok(Self { place, target: target.to_owned() })
    }

    /// Creates the file's folder: what is written is there whatever becomes of this process.
    ///
    /// # Errors
    /// When it cannot be created, or is there.
    pub fn create_folder(target: &Path) -> Result<Self> {
        let folder = unfinished(target);
        fs::create_dir(&folder).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => Error::Usage(format!(
                "{} is there: what a run recorded that was killed, or one records now; look into it \
                 with `pinion replay`, and move or remove it",
                folder.display()
            )),
            _ => Error::file("create", &folder, error),
        })?;
        let (names, sums) = (Vec::new(), Checksums::default());
        let unfinished = Unfinished { folder, names, sums, is_done: false };
        Ok(Self { place: Place::Folder(unfinished), target: target.to_owned() })
    }

    /// Gives the folder, if there is one.
    pub fn folder(&self) -> Option<&Path> {
        match &self.place {
            Place::Archive(..) => None,
            Place::Folder(unfinished) => Some(&unfinished.folder),
        }
    }

    /// Adds a file that others write into the folder, if they do.
    pub fn note(&mut self, name: &str) {
        if let Place::Folder(unfinished) = &mut self.place {
            unfinished.names.push(name.to_owned());
        }
    }

    /// Adds a file. Nobody's name and no time goes in: the same run gives the same bytes.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        let added = match &mut self.place {
            Place::Archive(builder, _, sums) => {
                sums.note(name, Sum::of(bytes));
                builder.append_data(&mut header(bytes.len() as u64), name, bytes)
            }
            Place::Folder(unfinished) => {
                let place = unfinished.place(name).and_then(|path| OutputFile::create(&path));
                let written = place.and_then(|mut to| to.write_all(bytes));
                written.and_then(|()| unfinished.note(name, Sum::of(bytes)))
            }
        };
        added.map_err(|error| self.failed(error))
    }

    /// Adds a file as it lies somewhere.
    ///
    /// # Errors
    /// When it cannot be read or written.
    pub fn add_file(&mut self, name: &str, path: &Path) -> Result<()> {
        let unread = |error| Error::file("read", path, error);
        let file = File::open(path).map_err(unread)?;
        let bytes = file.metadata().map_err(unread)?.len();
        // Whoever writes to it meanwhile makes it no longer than it was.
        let mut file = file.take(bytes);
        let added = match &mut self.place {
            Place::Archive(builder, _, sums) => {
                let mut sum = Sum::default();
                let file = Summed(file, &mut sum);
                let added = builder.append_data(&mut header(bytes), name, file);
                sums.note(name, sum);
                added
            }
            Place::Folder(unfinished) => {
                let mut sum = Sum::default();
                let place = unfinished.place(name).and_then(|path| OutputFile::create(&path));
                place
                    .and_then(|to| std::io::copy(&mut file, &mut Summed(to, &mut sum)))
                    .and_then(|_| unfinished.note(name, sum))
            }
        };
        added.map_err(|error| self.failed(error))
    }

    /// Ends the archive and gives the file its name.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(self) -> Result<()> {
        let Self { place, target } = self;
        let (mut builder, partial, sums) = match place {
            Place::Archive(builder, partial, sums) => (builder, partial, sums),
            Place::Folder(mut unfinished) => {
                let mut archive = Self::create(&target)?;
                let names =
                    unfinished.names.iter().map(|name| (name, unfinished.folder.join(name)));
                let mut names = names.filter(|(_, path)| path.is_file());
                names.try_for_each(|(name, path)| archive.add_file(name, &path))?;
                archive.finish()?;
                unfinished.is_done = true;
                return Ok(());
            }
        };
        let text = sums.text();
        let mut head = header(text.len() as u64);
        let written = builder.append_data(&mut head, checksums::FILE_NAME, text.as_bytes());
        let written = written.and_then(|()| builder.into_inner()?.flush());
        written.map_err(|error| Error::file("write", &target, error))?;
        Ok(partial.keep()?)
    }

    fn failed(&self, error: std::io::Error) -> Error {
        Error::file("write", &self.target, error)
    }
}

impl Unfinished {
    /// Makes room for a file.
    fn place(&mut self, name: &str) -> std::io::Result<PathBuf> {
        let path = self.folder.join(name);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        self.names.push(name.to_owned());
        Ok(path)
    }

    /// Keeps what a file has added up to.
    fn note(&mut self, name: &str, sum: Sum) -> std::io::Result<()> {
        self.sums.note(name, sum);
        let to = OutputFile::create(&self.folder.join(checksums::FILE_NAME));
        to.and_then(|mut to| to.write_all(self.sums.text().as_bytes()))
    }
}

/// Gives the folder of a recording whose run goes on.
pub fn unfinished(target: &Path) -> PathBuf {
    let mut name = target.as_os_str().to_owned();
    name.push(UNFINISHED);
    PathBuf::from(name)
}

/// Copies a folder's plain files into another, in the same folders below it; gives what those add up to that do not grow.
///
/// # Errors
/// When one cannot be read or written, or there is something else.
pub fn copy(from: &Path, to: &Path) -> Result<Checksums> {
    let mut sums = Checksums::default();
    // What says which slices are over comes first: of what is recorded now, the others have more by then.
    if from.join(tape::STEPS).is_file() {
        copy_file(&from.join(tape::STEPS), &to.join(tape::STEPS))?;
    }
    copy_folder(from, to, "", &mut sums)?;
    Ok(sums)
}

fn copy_folder(from: &Path, to: &Path, above: &str, sums: &mut Checksums) -> Result<()> {
    fs::create_dir_all(to).map_err(|error| Error::file("create", to, error))?;
    let unread = |error| Error::file("read", from, error);
    for entry in fs::read_dir(from).map_err(unread)? {
        let entry = entry.map_err(unread)?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        let name = format!("{above}{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type().map_err(unread)?;
        if kind.is_dir() {
            copy_folder(&path, &target, &format!("{name}/"), sums)?;
        } else if !kind.is_file() {
            return Err(Error::Usage(format!(
                "{} is no plain file: pinion did not record it",
                path.display()
            )));
        } else if name != tape::STEPS {
            let sum = copy_file(&path, &target)?;
            if !tape::NAMES.contains(&name.as_str()) {
                sums.note(&name, sum);
            }
        }
    }
    Ok(())
}

fn copy_file(path: &Path, target: &Path) -> Result<Sum> {
    let mut sum = Sum::default();
    let mut from = File::open(path).map_err(|error| Error::file("read", path, error))?;
    let to = File::create(target).map_err(|error| Error::file("create", target, error))?;
    let copied = std::io::copy(&mut from, &mut Summed(to, &mut sum));
    copied.map_err(|error| Error::file("read", path, error))?;
    Ok(sum)
}

/// Describes a file of so many bytes.
fn header(bytes: u64) -> Header {
    let mut header = Header::new_ustar();
    header.set_size(bytes);
    header.set_mode(0o644);
    header.set_mtime(0);
    header
}

/// Puts the files of an archive into a folder, only plain files with plain names; gives what they add up to.
///
/// # Errors
/// When the archive cannot be read, is damaged, or holds anything else.
pub fn unpack(path: &Path, folder: &Path) -> Result<Checksums> {
    let file = File::open(path).map_err(|error| Error::file("read", path, error))?;
    let damaged = |error: std::io::Error| {
        Error::Usage(format!("the recording {} is damaged: {error}", path.display()))
    };
    let mut archive = Archive::new(BufReader::new(file));
    let mut sums = Checksums::default();
    for entry in archive.entries().map_err(damaged)? {
        let mut entry = entry.map_err(damaged)?;
        let name = entry.path().map_err(damaged)?.into_owned();
        let is_plain = name.components().all(|part| matches!(part, Component::Normal(_)));
        if !is_plain
            || name.as_os_str().is_empty()
            || entry.header().entry_type() != EntryType::Regular
        {
            return Err(Error::Usage(format!(
                "the recording {} holds {}, which is no plain file of its own; it was not made by pinion",
                path.display(),
                name.display()
            )));
        }
        let target = folder.join(&name);
        let parent = target.parent().unwrap_or(folder);
        std::fs::create_dir_all(parent).map_err(|error| Error::file("create", parent, error))?;
        let size = entry.size();
        let out = File::create(&target).map_err(|error| Error::file("create", &target, error))?;
        let mut sum = Sum::default();
        let copied = std::io::copy(&mut entry, &mut Summed(out, &mut sum)).map_err(damaged)?;
        sums.note(&name.to_string_lossy(), sum);
        if copied != size {
            return Err(Error::Usage(format!(
                "the recording {} is cut off in {}: it was not written whole, or not copied whole",
                path.display(),
                name.display()
            )));
        }
    }
    Ok(sums)
}

/// Reads the beginning of a file; fewer bytes where it has fewer.
pub fn beginning(path: &Path, bytes: usize) -> Option<Vec<u8>> {
    let file = File::open(path).ok()?;
    let mut read = Vec::new();
    file.take(bytes as u64).read_to_end(&mut read).ok()?;
    Some(read)
}
