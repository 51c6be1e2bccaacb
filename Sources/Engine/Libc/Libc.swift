// The system's C library under one name: Darwin, Musl, Android or Glibc.

#if canImport(Darwin)
@_exported public import Darwin
#elseif canImport(Musl)
@_exported public import Musl
#elseif canImport(Android)
@_exported public import Android
#elseif canImport(Glibc)
@_exported public import Glibc
#else
#error("Dugout needs a POSIX C library: docs/guides/platforms.md lists the platforms.")
#endif
