// The symbols of C libraries that only some platforms have.

/// A platform that the sources are kept buildable for.
enum SourcePlatform: String, CaseIterable {
  case darwin = "Darwin"
  case glibc = "Glibc"
  case musl = "Musl"
  case android = "Android"

  static let all = Set(allCases)
  static let linux: Set<SourcePlatform> = [.glibc, .musl]
  static let linuxAndAndroid: Set<SourcePlatform> = [.glibc, .musl, .android]
}

enum PlatformSymbols {
  /// Returns the platforms that have a symbol; nil for a symbol that this list does not name.
  static func platforms(of symbol: String) -> Set<SourcePlatform>? {
    if let found = exact[symbol] { return found }
    return prefixes.first { symbol.hasPrefix($0.prefix) }?.platforms
  }

  /// Returns the platforms that have a header of C.
  static func platforms(ofHeader header: String) -> Set<SourcePlatform>? {
    if linuxHeaders.contains(header) || header.hasPrefix("linux/") || header.hasPrefix("asm/") {
      return SourcePlatform.linuxAndAndroid
    }
    if header.hasPrefix("mach/") || darwinHeaders.contains(header) { return [.darwin] }
    return glibcHeaders.contains(header) ? [.glibc] : nil
  }

  private static let exact: [String: Set<SourcePlatform>] = {
    var platforms: [String: Set<SourcePlatform>] = [:]
    for name in words(linuxNames) { platforms[name] = SourcePlatform.linuxAndAndroid }
    for name in words(glibcNames) { platforms[name] = [.glibc] }
    for name in words(notBionicNames) { platforms[name] = [.darwin, .glibc, .musl] }
    for name in words(glibcAndMuslNames) { platforms[name] = SourcePlatform.linux }
    for name in words(darwinNames) { platforms[name] = [.darwin] }
    for name in newTypes { platforms[name] = SourcePlatform.linuxAndAndroid }
    return platforms
  }()

  private static func words(_ text: String) -> [String] { text.split { $0.isWhitespace }.map(String.init) }

  /// Calls, constants and fields of Linux, which Bionic has, too.
  private static let linuxNames = """
    accept4 copy_file_range dup3 eventfd eventfd_read eventfd_write fallocate fallocate64 fdatasync fstat64
    fstatfs64 getauxval getrandom gettid lseek64 memfd_create mremap open64 openat64 pipe2 pivot_root
    posix_fadvise posix_fadvise64 posix_fallocate ppoll prctl pread64 preadv2 prlimit process_vm_readv
    pthread_condattr_setclock pthread_getname_np pwrite64 pwritev2 readahead reboot recvmmsg renameat2
    sched_getaffinity sched_setaffinity sendmmsg setns signalfd splice stat64 statfs64 statx
    sync_file_range syncfs sysinfo tee unshare vmsplice
    CLOCK_BOOTTIME CLOCK_MONOTONIC_COARSE CLOCK_REALTIME_COARSE EPOLL_CLOEXEC MAP_LOCKED MAP_POPULATE
    MREMAP_MAYMOVE MSG_CMSG_CLOEXEC MSG_NOSIGNAL O_DIRECT O_LARGEFILE O_NOATIME O_PATH O_TMPFILE POLLRDHUP
    SOCK_CLOEXEC SOCK_NONBLOCK SO_BINDTODEVICE SO_PEERCRED TCP_CORK TCP_QUICKACK TCP_USER_TIMEOUT
    TFD_CLOEXEC st_atim st_ctim st_mtim
    """

  /// Symbols that only the GNU C library has.
  private static let glibcNames = """
    __errno_location backtrace backtrace_symbols canonicalize_file_name fcloseall get_nprocs gnu_get_libc_version
    mallinfo mallinfo2 malloc_info malloc_trim open_by_handle_at program_invocation_name
    program_invocation_short_name pthread_tryjoin_np qsort_r strfry
    PTHREAD_MUTEX_ADAPTIVE_NP PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP
    """

  private static let notBionicNames = "pthread_cancel pthread_setcancelstate pthread_testcancel"

  private static let glibcAndMuslNames = "get_current_dir_name secure_getenv"

  private static let darwinNames = """
    F_BARRIERFSYNC F_FULLFSYNC F_NOCACHE F_PREALLOCATE F_RDADVISE F_RDAHEAD _NSGetExecutablePath
    _NSGetProgname arc4random_addrandom clonefile fclonefileat fcopyfile kevent kqueue malloc_zone_statistics
    os_proc_available_memory os_unfair_lock os_unfair_lock_lock os_unfair_lock_unlock proc_pidpath
    pthread_cond_timedwait_relative_np renameatx_np renamex_np st_atimespec st_birthtimespec st_ctimespec
    st_mtimespec sysctlbyname task_info
    """

  /// Types that Apple's systems have only in newer versions than those of the manifest.
  static let newTypes = ["InlineArray", "Observations", "UTF8Span", "utf8Span"]

  private static let prefixes: [(prefix: String, platforms: Set<SourcePlatform>)] = [
    ("epoll_", SourcePlatform.linuxAndAndroid), ("EPOLL", SourcePlatform.linuxAndAndroid),
    ("inotify_", SourcePlatform.linuxAndAndroid), ("fanotify_", SourcePlatform.linuxAndAndroid),
    ("timerfd_", SourcePlatform.linuxAndAndroid), ("EFD_", SourcePlatform.linuxAndAndroid),
    ("SFD_", SourcePlatform.linuxAndAndroid), ("TFD_", SourcePlatform.linuxAndAndroid),
    ("MFD_", SourcePlatform.linuxAndAndroid), ("GRND_", SourcePlatform.linuxAndAndroid),
    ("io_uring_", SourcePlatform.linuxAndAndroid), ("IORING_", SourcePlatform.linuxAndAndroid),
    ("PR_SET_", SourcePlatform.linuxAndAndroid), ("PR_GET_", SourcePlatform.linuxAndAndroid),
    ("FALLOC_FL_", SourcePlatform.linuxAndAndroid), ("RENAME_NOREPLACE", SourcePlatform.linuxAndAndroid),
    ("RENAME_EXCHANGE", SourcePlatform.linuxAndAndroid), ("POSIX_FADV_", SourcePlatform.linuxAndAndroid),
    ("F_OFD_", SourcePlatform.linuxAndAndroid), ("F_ADD_SEALS", SourcePlatform.linuxAndAndroid),
    ("SYNC_FILE_RANGE_", SourcePlatform.linuxAndAndroid), ("STATX_", SourcePlatform.linuxAndAndroid),
    ("SPLICE_F_", SourcePlatform.linuxAndAndroid), ("CLONE_NEW", SourcePlatform.linuxAndAndroid),
    ("SYS_", SourcePlatform.linuxAndAndroid), ("__NR_", SourcePlatform.linuxAndAndroid),
    ("FICLONE", SourcePlatform.linuxAndAndroid), ("NOTE_FULLFSYNC", [.darwin]), ("EVFILT_", [.darwin]),
    ("KERN_SUCCESS", [.darwin]), ("mach_", [.darwin]), ("COPYFILE_", [.darwin]),
  ]

  private static let linuxHeaders: Set<String> = [
    "sys/auxv.h", "sys/epoll.h", "sys/eventfd.h", "sys/inotify.h", "sys/personality.h", "sys/prctl.h",
    "sys/random.h", "sys/sendfile.h", "sys/signalfd.h", "sys/statfs.h", "sys/syscall.h", "sys/sysinfo.h",
    "sys/timerfd.h", "sys/vfs.h",
  ]

  private static let glibcHeaders: Set<String> = ["execinfo.h", "gnu/libc-version.h", "error.h"]

  private static let darwinHeaders: Set<String> = [
    "TargetConditionals.h", "copyfile.h", "libproc.h", "os/lock.h", "sys/clonefile.h", "sys/event.h",
    "sys/sysctl.h",
  ]
}
