// The files of an object and of the objects that are written with it.

import FirebaseFirestore
public import FirebaseStorage
private import Foundation

extension Document where Self: Object {
  /// Whether a save or an update has files to upload.
  public func shouldUploadFiles(_ id: String) -> Bool {
    let container = UploadContainer()
    pringCollectFiles(into: container, "")
    return !container.files.isEmpty
  }

  /// Uploads all new files of this object and of the objects that are written with it. If a container is
  /// given, only adds the files to the container.
  @discardableResult
  public func saveFiles(
    _ id: String, container: UploadContainer? = nil, block: (((any Error)?) -> Void)?
  ) -> [String: StorageUploadTask] {
    if let container {
      pringCollectFiles(into: container, "")
      block?(nil)
      return [:]
    }
    let container = UploadContainer()
    pringCollectFiles(into: container, "")
    guard !container.files.isEmpty else {
      block?(nil)
      return [:]
    }
    return container.begin(on: reference.firestore.callbackQueue, block)
  }

  /// Deletes the files of the properties, of nested objects and of lists. Errors are ignored. If a container
  /// is given, only adds the files to the container.
  public func deleteFiles(_ id: String, container: DeleteContainer?, block: (((any Error)?) -> Void)?) {
    if let container {
      if container.visit(self) { container.files += storedFiles }
      block?(nil)
      return
    }
    let container = DeleteContainer()
    container.files = storedFiles
    container.begin(on: reference.firestore.callbackQueue, block)
  }
}

extension Object {
  /// The files of the object's own properties, of nested objects and of the members of lists.
  var pringFiles: [File] {
    pringAdoptChildren()
    return pringActiveProperties.flatMap { _, property -> [File] in
      let value = property.value(of: self)
      switch property.role {
      case .value, .collection, .link: return []
      case .file: return (value as? any FileForm)?.files as? [File] ?? []
      case .nested: return (value as? Object)?.pringFiles ?? []
      case .list: return (value as? any EmbeddedObjects)?.embeddedObjects.flatMap(\.pringFiles) ?? []
      }
    }
  }

  var pringSavedFiles: [File] { pringFiles.filter(\.isSaved) }

  /// The storage references under which bytes of this document's files may be stored.
  fileprivate var storedFiles: [StorageReference] { pringFiles.filter { !$0.name.isEmpty }.compactMap(\.ref) }

  /// The files in the notes of the last write.
  var pringNoteFiles: [File] {
    return zip(pringSchema.properties, pringTracking.latestNotes).flatMap { property, note -> [File] in
      switch property.role {
      case .value, .collection, .link: []
      case .file, .nested, .list: (note as? any FileNote)?.files as? [File] ?? []
      }
    }
  }

  /// Collects the files to upload before this object is written. For a file of another object, the name
  /// starts with the path to that object.
  func pringCollectFiles(into container: UploadContainer, _ prefix: String) {
    guard container.visit(self) else { return }
    pringAdoptChildren()
    for (_, property) in pringActiveProperties {
      let value = property.value(of: self)
      let name = prefix + property.name
      switch property.role {
      case .value: break
      case .file: collect(value, name, into: container)
      case .nested: (value as? Object)?.pringCollectFiles(into: container, name + ".")
      case .list:
        for member in (value as? any EmbeddedObjects)?.embeddedObjects ?? [] {
          member.pringCollectFiles(into: container, "\(name).\(member.id).")
        }
      case .collection, .link:
        for target in (value as? any WrittenObjects)?.pringWrittenObjects ?? [] {
          target.pringCollectFiles(into: container, "\(name).\(target.id).")
        }
      }
    }
  }

  private func collect(_ value: Any, _ name: String, into container: UploadContainer) {
    let isArray = Self.pringUnwrapped(value) is [File]
    for (index, file) in ((value as? any FileForm)?.files as? [File] ?? []).enumerated()
    where file.shouldBeSaved {
      container.files.append((isArray ? "\(name).\(index)" : name, file))
    }
  }
}
