//! Power cuts without a power switch: a file system in a file, told to stop.
//!
//! The shutdown call of ext4 and XFS (`FS_IOC_SHUTDOWN`, without flushing the journal) makes the file system forget
//! everything that was not synced, as a power cut does. It does not tear sectors; the simulated disk does that.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

/// The call, from Python's standard library: no crate offers it without `unsafe`. The process is stopped in the same
/// breath: a machine without power acknowledges nothing, but a broker that lives on for some milliseconds would, and
/// the kernel tells a sync that this call overtakes now and then that all is well (seen in 1 of 100 cuts with a plain
/// loop of write, fdatasync and note).
const SHUTDOWN: &str = "import fcntl,os,signal,struct,sys\n\
    folder = os.open(sys.argv[1], os.O_RDONLY)\n\
    if len(sys.argv) > 2: os.kill(int(sys.argv[2]), signal.SIGSTOP)\n\
    fcntl.ioctl(folder, 0x8004587d, struct.pack('I', 2))";

/// A mounted ext4 file system in a file.
pub(crate) struct Image {
    file: PathBuf,
    mount_point: PathBuf,
}

impl Image {
    /// Makes and mounts an image of that many MiB under `dir`.
    pub(crate) fn create(dir: &Path, mebibytes: u32) -> Result<Image> {
        let image = Image {
            file: dir.join("disk.img"),
            mount_point: dir.join("mnt"),
        };
        std::fs::create_dir_all(&image.mount_point)?;
        run("truncate", &["-s", &format!("{mebibytes}M"), text(&image.file)?])?;
        run("mkfs.ext4", &["-q", "-F", text(&image.file)?])?;
        image.mount()?;
        Ok(image)
    }

    /// Where the file system is.
    pub(crate) fn mount_point(&self) -> &Path {
        &self.mount_point
    }

    fn mount(&self) -> Result<()> {
        run(
            "mount",
            &["-o", "loop", text(&self.file)?, text(&self.mount_point)?],
        )
    }

    /// The power goes: the process, if there is one, says no more, later writes fail, and nothing that was not synced
    /// will be there again.
    pub(crate) fn cut(&self, process: Option<u32>) -> Result<()> {
        let process = process.map(|pid| pid.to_string());
        let arguments = ["-c", SHUTDOWN, text(&self.mount_point)?];
        run(
            "python3",
            &arguments
                .into_iter()
                .chain(process.as_deref())
                .collect::<Vec<_>>(),
        )
    }

    /// The power comes back. Nobody may have files open there.
    pub(crate) fn remount(&self) -> Result<()> {
        run("umount", &[text(&self.mount_point)?])?;
        self.mount()
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        // Lazily: a broker that could not be judged may still have files open.
        if let Ok(path) = text(&self.mount_point) {
            let _ = run("umount", &["-l", path]);
        }
    }
}

fn text(path: &Path) -> Result<&str> {
    match path.to_str() {
        Some(text) => Ok(text),
        None => bail!("{} is not UTF-8", path.display()),
    }
}

fn run(program: &str, arguments: &[&str]) -> Result<()> {
    let output = Command::new(program).args(arguments).output()?;
    if !output.status.success() {
        bail!(
            "{program} {}: {}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(())
}
