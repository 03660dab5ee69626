//! Where the cycles of host programs' handlers go while somebody looks. In: instructions, and which images are loaded.
//! Out: a profile for each image. It begins anew when one is loaded or unloaded.

use std::path::PathBuf;
use std::sync::Arc;

use pinion_isa::elf::Image;
use pinion_observe::profile::{HpuProfile, Profile};
use pinion_spin::Machine;

use super::images::Loaded;

/// Bytes of code at most of an image whose source is shown: whoever may use the NIC loads what it likes.
const MOST_CODE_BYTES: u64 = 1 << 20;

/// Hears HPUs, if somebody looks.
#[derive(Default)]
pub struct Watched {
    listens: bool,
    /// The images that it knows: their names, and their bytes, by which it knows them again.
    files: Vec<(PathBuf, Arc<[u8]>)>,
    profile: Option<HpuProfile<'static>>,
    /// Counts how often it began anew, so that each image has a name of its own.
    times: u64,
}

impl Watched {
    /// Listens from now on, or no longer.
    pub fn listen(&mut self, closely: bool) {
        if closely
            && !self.listens
            && let Some(profile) = &mut self.profile
        {
            profile.pause();
        }
        self.listens = closely;
    }

    /// Gives who hears the images that are loaded, if somebody looks.
    pub fn ears(
        &mut self,
        machine: &Machine,
        images: &[Option<Loaded>],
    ) -> Option<&mut HpuProfile<'static>> {
        if !self.listens {
            return None;
        }
        let is_shown = |one: &&Loaded| code_bytes(&one.image) <= MOST_CODE_BYTES;
        let loaded = || images.iter().flatten().filter(is_shown);
        // None of these places is another's, for they are kept.
        let known = self.files.iter().map(|(_, bytes)| bytes.as_ptr());
        if self.profile.is_none() || !loaded().map(|one| one.bytes.as_ptr()).eq(known) {
            self.times += 1;
            let named = |(number, one): (usize, &Loaded)| {
                let name = format!("{}#{}.{number}", one.image.name, self.times);
                (PathBuf::from(name), Arc::clone(&one.bytes))
            };
            self.files = loaded().enumerate().map(named).collect();
            self.profile = together(loaded().map(|one| &one.image)).map(|all| {
                let mut profile = HpuProfile::of_image(machine, all);
                profile.pause();
                profile
            });
        }
        self.profile.as_mut()
    }

    /// Gives where cycles went, by image.
    pub fn profiles(&self) -> Vec<Profile<'_>> {
        let Some(profile) = &self.profile else { return Vec::new() };
        let of = |(name, bytes): &(PathBuf, Arc<[u8]>)| Profile {
            app: name.display().to_string().split('#').next().unwrap_or_default().to_owned(),
            elf: name.clone(),
            file: Some(Arc::clone(bytes)),
            ..profile.so_far()
        };
        self.files.iter().map(of).collect()
    }
}

fn code_bytes(image: &Image) -> u64 {
    let code = image.segments.iter().filter(|segment| segment.flags.execute);
    code.map(|segment| segment.memory_bytes).sum()
}

/// Puts images together that have nothing in common, for HPUs run code of all.
fn together<'i>(images: impl Iterator<Item = &'i Image>) -> Option<Image> {
    let mut all = images.cloned().reduce(|mut all, one| {
        all.segments.extend(one.segments);
        all.symbols.extend(one.symbols);
        all.sections.extend(one.sections);
        all
    })?;
    all.symbols.sort_by_key(|symbol| symbol.address);
    all.sections.sort_by_key(|section| section.address);
    Some(all)
}
