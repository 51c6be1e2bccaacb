// dugout check DIR: verifies every byte, index and reference of a store, and changes nothing.

import ByteStore
import DocumentStore
import ObjectStore
import StoreTools

enum CheckCommand: Command {
  static let name = "check"
  static let summary = "Verifies every byte of a store, and changes nothing"
  static let usage = "DIR [--json]"
  static let options = [(option: Arguments.json, meaning: "One JSON object with all findings and numbers")]
  static let positional = 1...1
  static let notes = [
    "First all bytes: manifest, logs, segments, checkpoint, contents of files, each against its checksum and its place.",
    "If they are sound, every document is compared with every index, every object with its content, and every content",
    "with its objects. It ends with code 1 if it finds anything, and says what to do next: salvage repairs documents,",
    "but not contents of files. While an app has the store open, it reads the documents of a capture.",
    "",
    StoreStatus.records,
    "An object is a file of the storage; entries in segments are records, and dead older versions of them.",
  ]

  static func run(_ arguments: Arguments) async throws {
    let directory = arguments.positional[0]
    guard !StoreAccess.hasWriter(directory) else { return try checkCapture(of: directory, arguments) }
    let report = try ProgressLine.during { line in
      try StoreAccess.check(directory, progress: line.show)
    }
    let contents = report.findings.count { $0.isInContent && !report.namesTaken.contains($0.file) }
    // If bytes outside the contents of files are damaged, differences between documents and indexes are only
    // consequences of that damage. They are not searched for in this case.
    let isReadable = contents == report.findings.count
    let agreement = isReadable ? try agreement(directory) : nil
    let objects = isReadable && contents > 0 ? try damagedObjects(directory) : []
    arguments.answer(
      text(report, agreement, objects: objects), object(of: report, agreement, objects: objects))
    if let agreement, report.isSound, !agreement.contradictions.isEmpty {
      throw CommandFailure(
        code: .checkFailed,
        message: "in \(directory) the bytes are sound, but " + advice(agreement)
          + " Copy the directory before anything else, and please report this.")
    }
    guard !report.isSound else { return }
    guard report.findings.count + report.findingsOmitted > report.namesTaken.count else {
      throw CommandFailure(code: .checkFailed, message: taken(report.namesTaken.count, in: directory))
    }
    let count = report.findings.count + report.findingsOmitted
    let start =
      "\(directory) is damaged in \(Wording.count(count, "place")). Copy the directory before anything else"
    // Contents are verified last. If all listed findings are about contents, the omitted findings are about
    // contents, too.
    let ofContents = isReadable ? count : contents
    var sentences = [
      isReadable ? start + "." : start + "; \"dugout salvage\" recovers what can be read."
    ]
    // The store can still be opened, because the damage affects only these documents.
    if report.findingsOmitted == 0, !report.undecodable.isEmpty,
      report.findings.allSatisfy({ $0.isInContent || $0.expected == "a record" })
    {
      sentences.append(Undecodable.advice(report.undecodable.names))
    }
    if ofContents > 0 {
      sentences.append(
        Wording.count(ofContents, "content is", plural: "contents are")
          + " damaged: upload the objects again, or restore a backup; salvage does not repair contents.")
    }
    if let agreement, !agreement.contradictions.isEmpty { sentences.append("Besides, \(advice(agreement))") }
    throw CommandFailure(code: .checkFailed, message: sentences.joined(separator: " "))
  }

  /// Checks what a reader has captured beside the writer of a store: it reads every document, and compares it
  /// with every index and reference. Dead records and files that are not in use are not read.
  private static func checkCapture(of directory: String, _ arguments: Arguments) throws {
    let agreement = try agreement(directory)
    let isSound = agreement.contradictions.isEmpty
    var lines = agreement.contradictions
    if agreement.contradictionsOmitted > 0 { lines.append("and \(agreement.contradictionsOmitted) more") }
    if let waste = waste(agreement) { lines.append(waste) }
    lines.append(numbers(agreement))
    lines.append(
      "This is a check of a capture: all documents of one moment, without dead records and spare files. The whole "
        + "directory can be checked while no process writes.")
    if isSound { lines.append(Terminal.emphasised("No damage in the capture.")) }
    var object: JSON = ["sound": isSound, "capture": true]
    add(agreement, to: &object)
    arguments.answer(lines.joined(separator: "\n"), object)
    guard !isSound else { return }
    throw CommandFailure(
      code: .checkFailed,
      message: "in \(directory) the bytes that were read are sound, but " + advice(agreement)
        + " Please report this.")
  }

  private static func advice(_ agreement: StoreAgreement) -> String {
    let all = agreement.contradictions.count + agreement.contradictionsOmitted
    let (objects, entries) = (agreement.objectContradictions, all - agreement.objectContradictions)
    var sentences: [String] = []
    if entries > 0 {
      sentences.append(
        Wording.count(entries, "index entry disagrees", plural: "index entries disagree")
          + " with the documents. The "
          + "documents are correct: drop the index (\"dugout index drop\"), and it is rebuilt.")
    }
    if objects > 0 {
      sentences.append(
        Wording.count(objects, "object has", plural: "objects have")
          + " no content: upload them again, or restore a backup.")
    }
    return sentences.joined(separator: " And ")
  }

  private static func taken(_ count: Int, in directory: String) -> String {
    "in \(directory), something other than a file has "
      + Wording.count(count, "name that", plural: "names that")
      + " a store uses for a file. Move \(count == 1 ? "it" : "them") out of the directory, or have \"dugout salvage\" set "
      + "\(count == 1 ? "it" : "them") aside."
  }

  private static func damagedObjects(_ directory: String) throws -> [String] {
    try StoreAccess.withStore(directory, readOnly: true) { store throws(DocumentStoreError) in
      try store.damagedObjects()
    }
  }

  private static func agreement(_ directory: String) throws -> StoreAgreement {
    try ProgressLine.during { line in
      try StoreAccess.withStore(directory, readOnly: true) { store throws(DocumentStoreError) in
        try store.agreement { line.show(UInt64($0), of: UInt64(max($0, $1)), what: "indexes and references") }
      }
    }
  }

  // MARK: For the eye

  private static let objectsMax = 100

  private static func text(
    _ report: CheckReport, _ agreement: StoreAgreement?, objects: [String]
  ) -> String {
    var lines = report.findings.map(\.line)
    if report.findingsOmitted > 0 { lines.append("and \(report.findingsOmitted) more") }
    if !report.undecodable.isEmpty {
      lines.append(Undecodable.sentence(report.undecodable.count, report.undecodable.names))
    }
    lines += objects.prefix(objectsMax).map { "the content of the object \($0) is damaged" }
    if objects.count > objectsMax { lines.append("and of \(objects.count - objectsMax) more") }
    lines += report.losses.map { "\($0.line). No damage." }
    for name in report.leftovers { lines.append("\(name) is a leftover; the next open removes it.") }
    if !report.quarantined.isEmpty {
      lines.append("set aside by salvage: \(report.quarantined.joined(separator: ", "))")
    }
    lines.append(numbers(report))
    if let agreement {
      lines += agreement.contradictions
      if agreement.contradictionsOmitted > 0 { lines.append("and \(agreement.contradictionsOmitted) more") }
      if let waste = waste(agreement) { lines.append(waste) }
      lines.append(numbers(agreement))
      if report.isSound, agreement.contradictions.isEmpty { lines.append(Terminal.emphasised("No damage.")) }
    }
    return lines.joined(separator: "\n")
  }

  private static func numbers(_ report: CheckReport) -> String {
    let files = "\(Wording.count(report.files, "file")), \(Wording.bytes(report.bytesVerified)) verified, "
    let entries = "\(Wording.count(report.entries, "entry", plural: "entries")) in segments"
    // If the file that contains the number of records is damaged, the report has 0 records, but the number is
    // in fact unknown.
    let isUncounted = !report.isSound && report.keys == 0
    guard isUncounted else {
      return files + "\(Wording.count(report.keys, "record")), \(entries), "
        + "\(Wording.bytes(report.deadBytes)) dead, last commit \(report.lastCommit.value)"
    }
    return files + "\(entries); the number of records is unknown until the damage is repaired"
  }

  private static func waste(_ agreement: StoreAgreement) -> String? {
    let count = agreement.unreferencedContents
    guard count > 0 else { return nil }
    return Wording.count(count, "content is", plural: "contents are")
      + " without an object, as after a crash: \"dugout compact\" removes \(count == 1 ? "it" : "them"). No damage."
  }

  private static func numbers(_ agreement: StoreAgreement) -> String {
    let others = agreement.records - agreement.documents
    var documents = Wording.count(agreement.documents, "document")
    if others > 0 { documents += " and " + Wording.count(others, "other record") }
    let indexes = Wording.count(agreement.indexes, "index", plural: "indexes")
    let entries = Wording.count(agreement.indexKeys, "entry", plural: "entries")
    var line = "\(documents) compared with \(indexes) of \(entries)"
    if agreement.objects > 0 || agreement.contents > 0 {
      line += "; \(Wording.count(agreement.objects, "object")) of the storage compared with "
      line += Wording.count(agreement.contents, "content")
    }
    return line
  }

  // MARK: For programs

  private static func object(
    of report: CheckReport, _ agreement: StoreAgreement?, objects: [String]
  ) -> JSON {
    var object: JSON = [
      "sound": report.isSound && agreement?.contradictions.isEmpty != false,
      "findings": report.findings.map(\.object),
      "findingsOmitted": report.findingsOmitted, "losses": report.losses.map(\.object),
      "leftovers": report.leftovers, "namesTaken": report.namesTaken, "setAside": report.quarantined,
      "files": report.files,
      "bytesVerified": report.bytesVerified, "keys": report.keys, "entries": report.entries,
      "deadBytes": report.deadBytes, "lastCommit": report.lastCommit.value,
      "damagedObjects": objects, "undecodable": report.undecodable.object,
    ]
    if let agreement { add(agreement, to: &object) }
    return object
  }

  private static func add(_ agreement: StoreAgreement, to object: inout JSON) {
    object["documents"] = agreement.documents.json
    object["records"] = agreement.records.json
    object["indexes"] = agreement.indexes.json
    object["indexKeys"] = agreement.indexKeys.json
    object["objects"] = agreement.objects.json
    object["contents"] = agreement.contents.json
    object["contentsOfNoObject"] = agreement.unreferencedContents.json
    object["contradictions"] = agreement.contradictions.json
  }
}

extension UndecodableEntries {
  /// The total count and the first names, as JSON.
  var object: JSON { ["count": count, "names": names] }
}

extension Damage {
  /// Whether the damage is in the folder of contents, which salvage does not repair. The test compares path
  /// components, because the directory of the store may have the same name as that folder.
  var isInContent: Bool { Self.isInContent(file) }

  static func isInContent(_ file: String) -> Bool {
    let names = file.split(separator: "/").suffix(2)
    guard names.count == 2, names.first == "blobs", let name = names.last else { return false }
    return ["pack-", "blob-", "staged-"].contains { name.hasPrefix($0) }
  }
}
