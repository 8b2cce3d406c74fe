//! Memory that this process may still allocate: the minimum of the machine's free memory, of the limits
//! of each control group of the process, and of the process's own limits.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};

use rustix::process::Resource;

/// Files of a control group that say how much memory it has and uses.
struct Controller {
    /// Its name in `/proc/self/cgroup`.
    name: &'static str,
    /// The file with the limit in bytes.
    limit: &'static str,
    /// The file with the bytes that are in use.
    used: &'static str,
    /// The entry of `memory.stat` with the bytes of use that the kernel reclaims first: cached pages of
    /// files that were not read for a while.
    reclaimable: &'static str,
}

/// Version 1 (Linux, Documentation/admin-guide/cgroup-v1/memory.rst).
const V1: Controller = Controller {
    name: "memory",
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    reclaimable: "total_inactive_file",
};
/// Version 2 (Linux, Documentation/admin-guide/cgroup-v2.rst).
const V2: Controller = Controller {
    name: "",
    limit: "memory.max",
    used: "memory.current",
    reclaimable: "inactive_file",
};

/// Bytes that this process can allocate without swapping, within the limits that its control groups,
/// `ulimit -v` and `ulimit -d` set; `None` where neither memory nor limits are known.
pub fn free() -> Option<f64> {
    let status = read_to_string("/proc/self/status").unwrap_or_default();
    let left = |limit, used| {
        let limit = rustix::process::getrlimit(limit).current?;
        Some(limit as f64 - kib(&status, used)?)
    };
    let own = [left(Resource::As, "VmSize:"), left(Resource::Data, "VmData:")];
    let all = own.into_iter().flatten().chain(free_of_system(Path::new("/")));
    all.reduce(f64::min).map(|free| free.max(0.0))
}

/// The same of the machine and of the control groups, whose files are below `root`.
fn free_of_system(root: &Path) -> Vec<f64> {
    let read = |file: &str| read_to_string(root.join("proc").join(file)).unwrap_or_default();
    let machine = kib(&read("meminfo"), "MemAvailable:");
    let (own, mounts) = (read("self/cgroup"), read("self/mountinfo"));
    let groups = mounts.lines().filter_map(|mount| groups(root, &own, mount)).flatten();
    machine.into_iter().chain(groups).collect()
}

/// Memory left by the limits of the control groups of this process, if this line of
/// `/proc/self/mountinfo` mounts a hierarchy of groups that limits memory.
fn groups(root: &Path, own: &str, mount: &str) -> Option<Vec<f64>> {
    // ID, parent, device, root, mount point, options … - type, source, options of the type.
    let (mount, filesystem) = mount.split_once(" - ")?;
    let mut mount = mount.split(' ').skip(3);
    let (top, point) = (mount.next()?, mount.next()?);
    let (kind, options) = filesystem.split_once(' ')?;
    let controller = match kind {
        "cgroup2" => V2,
        "cgroup" if options.split([' ', ',']).any(|option| option == V1.name) => V1,
        _ => return None,
    };
    let group = own.lines().find_map(|line| {
        let (names, path) = line.split_once(':')?.1.split_once(':')?;
        names.split(',').any(|name| name == controller.name).then_some(path)
    })?;
    // A container may see its own group alone, as the mount point.
    let below = Path::new(group).strip_prefix(top).unwrap_or(Path::new(""));
    let point: PathBuf = root.join(point.trim_start_matches('/'));
    let inside = point.join(below);
    let up = inside.ancestors().take_while(|folder| folder.starts_with(&point));
    Some(up.filter_map(|folder| controller.free(folder)).collect())
}

impl Controller {
    /// The limit of a group less its use; `None` where it has no limit.
    fn free(&self, folder: &Path) -> Option<f64> {
        let read = |file| read_to_string(folder.join(file)).ok();
        let bytes = |file| read(file)?.trim().parse::<f64>().ok();
        // Without a limit the file says `max`.
        let (limit, used) = (bytes(self.limit)?, bytes(self.used)?);
        let stat = read("memory.stat").unwrap_or_default();
        Some(limit - (used - number(&stat, self.reclaimable).unwrap_or(0.0)))
    }
}

/// The bytes that a line such as `VmSize:  32684 kB` of a file of `/proc` states.
fn kib(text: &str, name: &str) -> Option<f64> {
    number(text, name).map(|kib| kib * 1024.0)
}

/// The number behind a name at the beginning of a line.
fn number(text: &str, name: &str) -> Option<f64> {
    let line = |line: &str| {
        let mut words = line.split_whitespace();
        (words.next() == Some(name)).then(|| words.next()?.parse().ok()).flatten()
    };
    text.lines().find_map(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const GB: f64 = 1e9;

    /// The least that is free of a system with these files.
    fn least(files: &[(&str, &str)]) -> Option<f64> {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        free_of_system(root.path()).into_iter().reduce(f64::min)
    }

    /// 8,000,000 kB are 8.192 GB.
    const MEMORY: (&str, &str) =
        ("proc/meminfo", "MemTotal: 9000000 kB\nMemAvailable: 8000000 kB\n");

    #[test]
    fn a_machine_without_control_groups_has_what_is_available() {
        assert_eq!(least(&[]), None);
        assert_eq!(least(&[MEMORY]), Some(8.192 * GB));
        assert_eq!(least(&[("proc/meminfo", "MemFree: 8000000 kB\n")]), None);
    }

    #[test]
    fn every_group_of_version_2_up_to_the_mount_point_is_a_limit() {
        let files = |own: &'static str, parent: &'static str| {
            least(&[
                MEMORY,
                ("proc/self/cgroup", "0::/user/app\n"),
                (
                    "proc/self/mountinfo",
                    "31 23 0:28 / /run rw,relatime - tmpfs tmpfs rw,mode=755\n\
                     32 23 0:29 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw,nsdelegate\n",
                ),
                ("sys/fs/cgroup/user/app/memory.max", own),
                ("sys/fs/cgroup/user/app/memory.current", "500000000\n"),
                ("sys/fs/cgroup/user/app/memory.stat", "anon 1\ninactive_file 200000000\n"),
                ("sys/fs/cgroup/user/memory.max", parent),
                ("sys/fs/cgroup/user/memory.current", "3000000000\n"),
                // No hierarchy has a limit above its mount point.
                ("sys/fs/memory.max", "1\n"),
                ("sys/fs/memory.current", "0\n"),
                // Not a group of this process.
                ("sys/fs/cgroup/other/memory.max", "1\n"),
                ("sys/fs/cgroup/other/memory.current", "0\n"),
            ])
        };
        // Of 0.5 GB in use 0.2 GB are reclaimed first.
        assert_eq!(files("2000000000\n", "max\n"), Some(1.7 * GB));
        assert_eq!(files("2000000000\n", "4000000000\n"), Some(1.0 * GB));
        assert_eq!(files("max\n", "max\n"), Some(8.192 * GB));
        assert_eq!(files("max\n", "900000000000\n"), Some(8.192 * GB));
        // More in use than a limit that was lowered.
        assert_eq!(files("max\n", "2000000000\n"), Some(-GB));
    }

    #[test]
    fn a_group_of_version_1_is_a_limit_by_its_own_hierarchy() {
        let files = |top: &str, group: &str, folder: &str| {
            let mounts = format!(
                "33 31 0:30 {top} /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                 35 31 0:32 {top} /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                 36 31 0:33 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
            );
            let groups = format!("4:cpu,cpuacct:/elsewhere\n3:memory:{group}\n0::/\n");
            let file = |name: &str| format!("sys/fs/cgroup/memory{folder}/{name}");
            least(&[
                MEMORY,
                ("proc/self/mountinfo", &mounts),
                ("proc/self/cgroup", &groups),
                (&file("memory.limit_in_bytes"), "2000000000\n"),
                (&file("memory.usage_in_bytes"), "500000000\n"),
                (&file("memory.stat"), "inactive_file 1\ntotal_inactive_file 100000000\n"),
            ])
        };
        assert_eq!(files("/", "/user/app", "/user/app"), Some(1.6 * GB));
        assert_eq!(files("/", "/user/app", "/user"), Some(1.6 * GB));
        assert_eq!(files("/", "/user/app", "/other"), Some(8.192 * GB));
        // In a container the mount point is the group of the container, independent of the path.
        assert_eq!(files("/docker/1", "/docker/1", ""), Some(1.6 * GB));
        assert_eq!(files("/docker/1", "/docker/1/app", "/app"), Some(1.6 * GB));
        assert_eq!(files("/docker/1", "/", ""), Some(1.6 * GB));
    }
}
