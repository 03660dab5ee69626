//! `pinion new NAME`: a folder with a small application that builds and runs as it is.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use pinion::Error;
use pinion::assets;
use pinion::error::Result;
use pinion_output::OutputFile;

use super::Status;
use crate::cli::NewArgs;
use crate::output;

/// What can be made: its files, each with its template or the file of the SDK that it is, and what its user may do next. `@NAME@` in
/// texts and names stands for the application's name, `@SYMBOL@` for the same as C writes it,
/// `@FOLDER@` for the folder.
struct Template {
    option: &'static str,
    what: &'static str,
    files: &'static [(&'static str, &'static str)],
    next: &'static [&'static str],
}

const HANDLERS: Template = Template {
    option: "",
    what: "packet handlers for a sPIN NIC: counts UDP packets and sends each back",
    files: &[
        ("app.toml", "app.toml"),
        ("@SYMBOL@.c", "handlers.c"),
        ("expect.toml", "expect.toml"),
        ("README.md", "README.md"),
        (".vscode/launch.json", "vscode/launch.json"),
    ],
    next: &[
        "pinion test @FOLDER@",
        "pinion run @FOLDER@ --generate 'udp,size=512,count=10000,rate=400g'",
    ],
};

const NANOSERVICE: Template = Template {
    option: "--nanoservice",
    what: "a program for a nanoPU: answers each message with the sum of its words",
    files: &[
        ("app.toml", "nanoservice/app.toml"),
        ("@SYMBOL@.c", "nanoservice/service.c"),
        ("expect.toml", "nanoservice/expect.toml"),
        ("messages.toml", "nanoservice/messages.toml"),
        ("README.md", "nanoservice/README.md"),
        (".vscode/launch.json", "nanoservice/launch.json"),
    ],
    next: &[
        "pinion test @FOLDER@",
        "pinion run @FOLDER@ --load requests=1000,gap=exp:2000,match=oldest",
    ],
};

const TRANSPORT: Template = Template {
    option: "--transport",
    what: "a nanoPU's transport as two P4 programs, NDP as they stand, and a service on it",
    files: &[
        ("app.toml", "transport/app.toml"),
        ("ingress.p4", "sdk/p4/ndp/ingress.p4"),
        ("egress.p4", "sdk/p4/ndp/egress.p4"),
        ("@SYMBOL@.c", "nanoservice/service.c"),
        ("expect.toml", "nanoservice/expect.toml"),
        ("messages.toml", "nanoservice/messages.toml"),
        ("README.md", "transport/README.md"),
    ],
    next: &[
        "pinion p4 check @FOLDER@/ingress.p4 @FOLDER@/egress.p4",
        "pinion run @FOLDER@ --load requests=1000,gap=exp:2000,match=oldest",
    ],
};

const CLUSTER: Template = Template {
    option: "--cluster",
    what: "several nanoPUs on a network: four clients ask a server for sums",
    files: &[
        ("cluster.toml", "cluster/cluster.toml"),
        ("server/app.toml", "cluster/server.toml"),
        ("server/server.c", "cluster/server.c"),
        ("client/app.toml", "cluster/client.toml"),
        ("client/client.c", "cluster/client.c"),
        ("expect.toml", "cluster/expect.toml"),
        ("README.md", "cluster/README.md"),
        (".vscode/launch.json", "cluster/launch.json"),
    ],
    next: &[
        "pinion test @FOLDER@",
        "pinion run @FOLDER@ --set client.count=16 --pcap server=server.pcap",
    ],
};

/// Everything that can be made.
const TEMPLATES: [&Template; 4] = [&HANDLERS, &NANOSERVICE, &TRANSPORT, &CLUSTER];

pub fn run(args: &NewArgs) -> Result<Status> {
    let Some(folder) = &args.name else {
        list();
        return Ok(Status::Success);
    };
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_default();
    if !is_name(&name) {
        return Err(Error::Usage(format!(
            "`{name}` cannot name an application: start with a letter, go on with letters, \
             digits, _ or -"
        )));
    }
    if folder.exists() {
        return Err(Error::Usage(format!(
            "{} exists already; choose another name or remove it first",
            folder.display()
        )));
    }
    let made = Made::create(folder)?;
    let template = match (args.nanoservice, args.transport, args.cluster) {
        (true, ..) => &NANOSERVICE,
        (_, true, _) => &TRANSPORT,
        (.., true) => &CLUSTER,
        _ => &HANDLERS,
    };
    let shown = folder.display().to_string();
    let symbol = name.replace('-', "_");
    let fill = |text: &str| {
        let text = text.replace("@NAME@", &name).replace("@SYMBOL@", &symbol);
        text.replace("@FOLDER@", &shown)
    };
    for (file, text) in template.files {
        write(&folder.join(fill(file)), &fill(&read(text)?))?;
    }
    made.keep();
    let names = template.files.iter().map(|(file, _)| fill(file));
    let names: Vec<String> = names.collect();
    let (last, others) = names.split_last().map_or(("", &[][..]), |(last, all)| (last, all));
    let next = template.next.iter().map(|line| format!("\n  {}", fill(line)));
    output::print(&format!(
        "{shown}: {} and {last} are there. Next:{}\n",
        others.join(", "),
        next.collect::<String>()
    ));
    Ok(Status::Success)
}

/// Reads a template, or a file of the SDK.
fn read(name: &str) -> Result<String> {
    match name.starts_with("sdk/") {
        true => assets::shipped(name),
        false => assets::template(name),
    }
}

/// Prints what can be made.
fn list() {
    let rows = TEMPLATES.map(|template| {
        let command = format!("pinion new NAME {}", template.option);
        vec![command.trim_end().to_owned(), template.what.to_owned()]
    });
    output::print_columns(&rows);
}

/// Folders that were made; removed with all that is in them unless they are kept.
pub struct Made(Option<PathBuf>);

impl Made {
    /// Makes a folder and those that it lies in, as far as they are not there.
    pub fn create(folder: &Path) -> Result<Self> {
        let is_missing = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
        let first = folder.ancestors().take_while(is_missing).last();
        let made = Self(first.map(Path::to_owned));
        fs::create_dir_all(folder).map_err(|error| Error::file("create", folder, error))?;
        Ok(made)
    }

    /// Keeps them.
    pub fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        if let Some(folder) = &self.0 {
            // What went wrong is told already.
            let _ = fs::remove_dir_all(folder);
        }
    }
}

fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(plain)
}

/// Writes a file, and the folders that it lies in.
pub fn write(path: &Path, text: &str) -> Result<()> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(|error| Error::file("create", folder, error))?;
    let written = OutputFile::create(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| Error::file("write", path, error))
}
