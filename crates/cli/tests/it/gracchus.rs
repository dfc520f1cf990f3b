//! Running the binary: commands to their end, and `gracchus dev` for as long as a test lasts.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};

use tempfile::TempDir;

const BINARY: &str = env!("CARGO_BIN_EXE_gracchus");

/// What a command came to.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Done {
    /// The output of a command that succeeded.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, 0, "{self:?}");
        self.out
    }
}

/// Starts the binary with these arguments.
pub(crate) fn begin(arguments: &[&str]) -> Child {
    Command::new(BINARY)
        .args(arguments)
        .env_remove("GRACCHUS_BOOTSTRAP_SERVER")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Runs the binary with these arguments and this input.
pub(crate) fn run(arguments: &[&str], input: &str) -> Done {
    let mut child = begin(arguments);
    // A command that does not read its input may be gone already.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    Done {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// `gracchus dev` on a port of its own, in a folder of its own.
pub(crate) struct Dev {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    /// What it logged before it greeted.
    pub(crate) log: Vec<String>,
    pub(crate) server: String,
    pub(crate) greeting: Vec<String>,
    pub(crate) folder: TempDir,
}

impl Dev {
    pub(crate) fn start() -> Dev {
        Dev::start_in(tempfile::tempdir().unwrap())
    }

    /// Starts in a folder that another one may have left.
    pub(crate) fn start_in(folder: TempDir) -> Dev {
        Dev::start_as(Command::new(BINARY), folder, &[])
    }

    /// Starts with at most so many open files.
    pub(crate) fn start_with_descriptors(most: usize) -> Dev {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("ulimit -n {most}; exec \"$0\" \"$@\""), BINARY]);
        Dev::start_as(shell, tempfile::tempdir().unwrap(), &[])
    }

    /// Starts with further arguments.
    pub(crate) fn start_with(arguments: &[&str]) -> Dev {
        Dev::start_as(Command::new(BINARY), tempfile::tempdir().unwrap(), arguments)
    }

    fn start_as(mut command: Command, folder: TempDir, arguments: &[&str]) -> Dev {
        let data_dir = folder.path().join("data");
        let mut child = command
            .args(["dev", "--host", "127.0.0.1", "--port", "0", "--data-dir"])
            .arg(&data_dir)
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (mut greeting, mut log): (Vec<String>, Vec<String>) = Default::default();
        while greeting.len() < 7 {
            let line = lines.next().expect("dev says what it did").unwrap();
            let is_greeting =
                !greeting.is_empty() || line.starts_with("made ") || line.starts_with("opened ");
            if is_greeting { &mut greeting } else { &mut log }.push(line);
        }
        let serving = greeting[1].strip_prefix("serving ").unwrap();
        let server = serving.split(';').next().unwrap().to_owned();
        Dev {
            child,
            lines,
            log,
            server,
            greeting,
            folder,
        }
    }

    /// The next line of the log.
    pub(crate) fn logged(&mut self) -> String {
        self.lines.next().expect("dev is running").unwrap()
    }

    /// Runs a command of `gracchus` on this broker.
    pub(crate) fn run(&self, arguments: &[&str]) -> Done {
        self.run_with(arguments, "")
    }

    pub(crate) fn run_with(&self, arguments: &[&str], input: &str) -> Done {
        let server = ["-b", &self.server];
        run(&[arguments, &server].concat(), input)
    }

    /// Runs one of Kafka's scripts on this broker.
    pub(crate) fn script(&self, arguments: &[&str], input: &str) -> Done {
        let server = ["--bootstrap-server", &self.server];
        run(&[arguments, &server].concat(), input)
    }

    /// Sends SIGTERM and waits; the exit code, and the folder for the next one.
    pub(crate) fn stop(mut self) -> (i32, TempDir) {
        terminate(&self.child);
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        let folder = std::mem::replace(&mut self.folder, tempfile::tempdir().unwrap());
        (code, folder)
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends SIGTERM.
pub(crate) fn terminate(child: &Child) {
    let status = Command::new("kill").arg(child.id().to_string()).status();
    assert!(status.unwrap().success());
}
