// dugout serve DIR: a Firestore server over the databases in a directory.

import DugoutServer
import Foundation

enum ServeCommand: Command {
  static let name = "serve"
  static let summary = "Runs a Firestore server over the databases in a directory"
  static let usage =
    "DIR [--emulator] [--admin-secret-file FILE] [--create DATABASE…] [--port N] [--address ADDRESS] "
    + "[--tls CERT KEY] [--behind-proxy] [--trusted-proxy ADDRESS…] [--allow-host NAME…] [--allow-origin ORIGIN…] "
    + "[--insecure-any-address] [--admin-port N] [--admin-address ADDRESS] [--import EXPORT] "
    + "[--export-on-exit FOLDER] [--project ID] [--log FORMAT] [--ready-file FILE] [--drain-seconds N]"
  static let options = [
    (
      option: "--emulator",
      meaning: "For tests: no credentials, and databases are created when they are first used"
    ),
    (
      option: "--admin-secret-file FILE",
      meaning: "The file with the secret that each request has to carry; needed without --emulator"
    ),
    (
      option: "--create DATABASE…",
      meaning:
        "Create a database such as 'projects/my-shop/databases/(default)' unless it exists; once for each"
    ),
    (option: "--port N", meaning: "The port, by default 8080; 0 lets the system choose one"),
    (option: "--address ADDRESS", meaning: "The address to listen on, by default 127.0.0.1"),
    (
      option: "--tls CERT KEY",
      meaning: "The files of the certificate and its key in PEM form; SIGHUP reads them again"
    ),
    (
      option: "--behind-proxy",
      meaning: "A proxy encrypts the connections of clients; needs --allow-host"
    ),
    (
      option: "--trusted-proxy ADDRESS…",
      meaning:
        "A proxy's address, such as 10.0.0.5 or 10.0.0.0/8, without limits of connections; once for each"
    ),
    (
      option: "--allow-host NAME…",
      meaning: "A name by which clients address the server; once for each name"
    ),
    (
      option: "--allow-origin ORIGIN…",
      meaning: "A web page's origin that may call the server, such as https://app.example; once for each"
    ),
    (
      option: "--insecure-any-address",
      meaning: "Let --emulator listen on an address that other machines reach"
    ),
    (option: "--admin-port N", meaning: "A second port for /healthz, /readyz and /metrics"),
    (option: "--admin-address ADDRESS", meaning: "The address of that port, by default 127.0.0.1"),
    (
      option: "--import EXPORT",
      meaning: "Import an export of Firestore or its emulator first, if the database has no documents"
    ),
    (
      option: "--export-on-exit FOLDER",
      meaning: "Export the database at the end, in the form that --import and Firebase's emulators read"
    ),
    (
      option: "--project ID",
      meaning: "The project of --import and --export-on-exit; by default that of the export, or of --create"
    ),
    (option: "--log FORMAT", meaning: "Log each request on the standard error output, as json or as text"),
    (
      option: "--ready-file FILE",
      meaning:
        "Write a line of JSON with the ports and the process id to FILE while the server accepts requests"
    ),
    (option: "--drain-seconds N", meaning: "How long open requests may take at the end, by default 10"),
  ]
  static let positional = 1...1
  static let shellForm = ShellForm.none
  static let notes = [
    "Firestore's client libraries for servers use it without changes, by gRPC or REST. Each database is a store in",
    "DIR/PROJECT/DATABASE, which is created with its directories. The first line of the output is the address.",
    "",
    "  dugout serve data --emulator",
    "  dugout serve data --admin-secret-file admin-secret --create 'projects/my-shop/databases/(default)'",
    "",
    "It listens on this machine only. Another address needs --tls, or --behind-proxy if a proxy encrypts. With --emulator,",
    "any client may read and delete everything, so another address also needs --insecure-any-address.",
    "A secret has at least 16 characters. This command creates one:",
    "",
    "  \(SecretFile.creation("admin-secret"))",
    "",
    "SIGTERM and Ctrl-C end it: streams are told, open requests finish, and the code is 0. A second Ctrl-C ends it at once.",
    "SIGHUP reads the files of --tls again; without --tls it ends the server, as when its terminal is closed.",
    "--import creates the database with all documents or not at all. --export-on-exit replaces an earlier export in FOLDER,",
    "so both options can name one folder. The program has this command if it is built with --traits Server,TLS.",
  ]

  static func run(_ arguments: Arguments) async throws {
    #if Server
    try await ServeRun(ServeOptions(arguments)).run()
    #else
    throw CommandFailure(
      code: .usage,
      message: "this program was built without the trait Server. \(ServeOptions.buildAdvice)")
    #endif
  }
}
