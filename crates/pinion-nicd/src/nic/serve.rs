//! Answers host programs: a message comes in, an answer or a refusal goes out.

use std::os::fd::{AsFd, OwnedFd};

use nix::unistd::{Uid, geteuid};
use pinion_host::Access;

use super::attach::Wanted;
use super::board::Board;
use super::deed::Brought;
use super::log::{Cursor, Reader};
use super::message::{Body, Builder, Header, Kind, PIECE_BYTES, VERSION};
use super::refusal::{Code, Refusal};
use super::socket::Connection;
use super::{Setting, status};
use pinion_run::watch::Observer;

/// What becomes of a message.
pub enum Reply {
    /// An answer, with files.
    Answer(Vec<u8>, Vec<OwnedFd>),
    /// Nothing.
    Nothing,
    /// The connection gets lines from now on, until the end if it follows.
    Lines(Cursor, bool),
}

type Answered = Result<Reply, Refusal>;

/// Who asks: the connection's number and what is known of the other end.
#[derive(Clone, Copy)]
pub struct Asker<'a> {
    /// The connection's number.
    pub number: u64,
    /// The process.
    pub pid: i32,
    /// Its user.
    pub user: Uid,
    /// Its name.
    pub program: &'a str,
}

impl<'a> Asker<'a> {
    /// Says who is at the other end of a connection.
    pub fn at(number: u64, connection: &'a Connection) -> Self {
        let Connection { pid, user, program, .. } = connection;
        Self { number, pid: *pid, user: *user, program }
    }
}

fn answer(body: Builder) -> Answered {
    Ok(Reply::Answer(body.0, Vec::new()))
}

fn done() -> Answered {
    answer(Builder::default())
}

fn short() -> Refusal {
    Refusal::garbage("it is too short, or too long")
}

/// Answers a message; the header's version and kind have been checked.
pub fn serve(
    board: &mut Board,
    setting: &Setting,
    asker: Asker<'_>,
    (kind, mut body): (Kind, Body<'_>),
    file: Brought,
    observer: &mut dyn Observer,
) -> Answered {
    match kind {
        Kind::Hello => hello(board, setting),
        Kind::Attach => {
            let wanted = wanted(body, file)?;
            attach(board, setting, asker, wanted, observer)
        }
        Kind::Load => load(board, setting, asker, body, file, observer),
        Kind::Unload => unload(board, asker, observer),
        Kind::Rules => rules(board, asker, body),
        Kind::Read => read(board, asker, body),
        Kind::Write => write(board, asker, body),
        Kind::Answer => push(board, asker, body),
        Kind::Debug => Err(Refusal::garbage("a debugger is for who runs the NIC")),
        Kind::Status => answer(Builder::default().bytes(status::json(board, setting).as_bytes())),
        Kind::Log => match (body.u32(), body.u32(), body.is_empty()) {
            (Some(follow), Some(_), true) => {
                let reader = Reader::new(asker.user, geteuid());
                Ok(Reply::Lines(Cursor::new(reader), follow != 0))
            }
            _ => Err(short()),
        },
    }
}

/// Checks a header; a refusal ends the connection.
pub fn check(header: &Header) -> Result<Kind, Refusal> {
    if header.version != VERSION {
        return Err(Refusal::new(
            Code::Version,
            format!(
                "this program speaks version {} with NICs, and this NIC version {VERSION}; compile \
                 the program anew with the pinion that runs the NIC",
                header.version
            ),
        ));
    }
    let unknown = || Refusal::garbage(&format!("kind {}", header.kind_number));
    header.kind.ok_or_else(unknown)
}

fn hello(board: &Board, setting: &Setting) -> Answered {
    let machine = &board.machine;
    let body = Builder::default()
        .u32(machine.hpus())
        .u32(setting.contexts)
        .u32(machine.matching.rules + 1)
        .u32(4096)
        .area((machine.l2_handler.base, machine.l2_handler.bytes))
        .name(&machine.name);
    answer(body)
}

fn image(name: &str, file: Brought) -> Result<Vec<u8>, Refusal> {
    let file = file.ok_or_else(|| Refusal::garbage("the image's file is missing"))?;
    let bad = |problem| Refusal::new(Code::BadImage, format!("image {name}: {problem}"));
    file.map_err(bad)
}

fn wanted(mut body: Body<'_>, file: Brought) -> Result<Wanted, Refusal> {
    let context = body.u32().ok_or_else(short)?;
    let count = body.u32().ok_or_else(short)?;
    let host_bytes = body.u64().ok_or_else(short)?;
    let image_name = body.name().ok_or_else(short)?;
    let mut rules = Vec::new();
    while !body.is_empty() {
        rules.push(body.ruleset().ok_or_else(short)?);
    }
    if rules.len() != count as usize {
        return Err(short());
    }
    let image = image(&image_name, file)?;
    Ok(Wanted { context, rules, host_bytes, image_name, image })
}

fn attach(
    board: &mut Board,
    setting: &Setting,
    asker: Asker<'_>,
    wanted: Wanted,
    observer: &mut dyn Observer,
) -> Answered {
    if let Some(holder) = board.holders.get(&asker.number) {
        let text = format!(
            "this connection holds context {} already; a further one needs a further fpspin_init",
            holder.first
        );
        return Err(Refusal::new(Code::Busy, text));
    }
    let who = (asker.pid, asker.user.as_raw(), asker.program);
    let mut holder = board.admit(who, &wanted, setting.contexts)?;
    board.install(&mut holder, wanted.image, setting.contexts, observer)?;
    let host_memory = holder.region.file().as_fd().try_clone_to_owned();
    let host_memory = host_memory.map_err(|error| Refusal::new(Code::Nic, error.to_string()))?;
    let files = std::iter::once(host_memory).chain(holder.handler_memory_file.take()).collect();
    observer.notice(&format!(
        "context {}: {} has attached with {}",
        holder.first,
        holder.describe(),
        holder.image_name
    ));
    board.holders.insert(asker.number, holder);
    let body = attached(board, asker.number);
    Ok(Reply::Answer(body.0, files))
}

fn attached(board: &Board, number: u64) -> Builder {
    let holder = &board.holders[&number];
    let loaded = holder.image.and_then(|index| board.images[index].as_ref());
    let mut body = Builder::default();
    for kind in 0..3 {
        let handler = loaded.and_then(|loaded| loaded.handlers[kind].as_ref());
        body = body.area(handler.map_or((0, 0), |handler| (handler.address, handler.bytes)));
    }
    let memory = &holder.handler_memory;
    body.area((memory.start, memory.len() as u32))
        .u32(loaded.and_then(|loaded| loaded.host_data.as_ref()).map_or(0, |shared| shared.start))
        .u32(0)
        .bytes(&board.request_numbers(holder))
}

fn not_attached() -> Refusal {
    Refusal::new(Code::NotAttached, "this connection holds no context")
}

fn load(
    board: &mut Board,
    setting: &Setting,
    asker: Asker<'_>,
    mut body: Body<'_>,
    file: Brought,
    observer: &mut dyn Observer,
) -> Answered {
    let (Some(offset), Some(bytes), Some(name)) = (body.u64(), body.u64(), body.name()) else {
        return Err(short());
    };
    let image = image(&name, file)?;
    let mut holder = board.holders.remove(&asker.number).ok_or_else(not_attached)?;
    let has = holder.region.bytes() as u64;
    let result = match offset.checked_add(bytes).filter(|end| *end <= has) {
        Some(end) => {
            board.uninstall(&mut holder);
            (holder.window, holder.image_name) = (offset..end, name);
            board.install(&mut holder, image, setting.contexts, observer)
        }
        None => Err(Refusal::new(
            Code::Range,
            format!(
                "a window of {bytes} bytes at {offset} is larger than the context's host memory, \
                 {has} bytes"
            ),
        )),
    };
    let file = holder.handler_memory_file.take();
    board.holders.insert(asker.number, holder);
    result?;
    Ok(Reply::Answer(attached(board, asker.number).0, file.into_iter().collect()))
}

fn unload(board: &mut Board, asker: Asker<'_>, observer: &mut dyn Observer) -> Answered {
    let mut holder = board.holders.remove(&asker.number).ok_or_else(not_attached)?;
    board.uninstall(&mut holder);
    observer.notice(&format!(
        "context {}: {} has unloaded {}",
        holder.first,
        holder.describe(),
        holder.image_name
    ));
    board.holders.insert(asker.number, holder);
    done()
}

/// Changes the rulesets of contexts that the asker holds; other packets notice nothing.
fn rules(board: &mut Board, asker: Asker<'_>, mut body: Body<'_>) -> Answered {
    let (Some(first), Some(count)) = (body.u32(), body.u32()) else { return Err(short()) };
    let mut rules = Vec::new();
    while !body.is_empty() {
        rules.push(body.ruleset().ok_or_else(short)?);
    }
    if rules.len() != count as usize {
        return Err(short());
    }
    board.check_rules(&rules)?;
    let mut holder = board.holders.remove(&asker.number).ok_or_else(not_attached)?;
    let held = holder.contexts();
    let is_held = first >= held.start && first.checked_add(count).is_some_and(|e| e <= held.end);
    let result = if is_held {
        for (context, new) in (first..).zip(rules) {
            let at = (context - held.start) as usize;
            match holder.rules.get_mut(at) {
                Some(old) => *old = new,
                None => holder.rules.push(new),
            }
        }
        if holder.image.is_some() { board.set_rules(&holder) } else { Ok(()) }
    } else {
        let text = format!(
            "this program holds context {} to {}, not {first}; rules are changed by who holds the \
             context",
            held.start,
            held.end - 1
        );
        Err(Refusal::new(Code::NotAttached, text))
    };
    board.holders.insert(asker.number, holder);
    result?;
    done()
}

fn read(board: &Board, asker: Asker<'_>, mut body: Body<'_>) -> Answered {
    let (Some(address), Some(bytes), true) = (body.u32(), body.u32(), body.is_empty()) else {
        return Err(short());
    };
    if bytes > PIECE_BYTES {
        return Err(short());
    }
    if !board.holders.contains_key(&asker.number) {
        return Err(not_attached());
    }
    board.check_access(asker.number, Access::Read, (address, bytes))?;
    let mut data = vec![0; bytes as usize];
    let is_there = board.nic.read_memory(address, &mut data);
    debug_assert!(is_there, "windows lie in NIC memory");
    Ok(Reply::Answer(data, Vec::new()))
}

fn write(board: &mut Board, asker: Asker<'_>, mut body: Body<'_>) -> Answered {
    let (Some(address), Some(bytes)) = (body.u32(), body.u32()) else { return Err(short()) };
    if body.0.len() != bytes as usize {
        return Err(short());
    }
    if !board.holders.contains_key(&asker.number) {
        return Err(not_attached());
    }
    board.check_access(asker.number, Access::Write, (address, bytes))?;
    let written = board.write(address, body.0);
    debug_assert!(written, "windows lie in NIC memory");
    done()
}

/// Answers a handler: not answered itself.
fn push(board: &mut Board, asker: Asker<'_>, mut body: Body<'_>) -> Answered {
    let (Some(hpu), Some(_), Some(flag)) = (body.u32(), body.u32(), body.u64()) else {
        return Err(short());
    };
    let image = board.holders.get(&asker.number).and_then(|holder| holder.image);
    let loaded = image.and_then(|index| board.images[index].as_ref());
    let shared = loaded.and_then(|loaded| loaded.host_data.clone());
    if let Some(shared) = shared.filter(|_| hpu < board.machine.hpus()) {
        let address = shared.start + 8 * hpu;
        // The image's check when it was loaded says so already; what is written here is checked
        // as any other write.
        board.check_access(asker.number, Access::Write, (address, 8))?;
        let written = board.write(address, &flag.to_le_bytes());
        debug_assert!(written, "an image's data lie in NIC memory");
    }
    Ok(Reply::Nothing)
}
