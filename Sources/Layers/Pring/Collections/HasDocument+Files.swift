// References and relations pass on what concerns files to their objects.

public import FirebaseStorage

extension StorageLinkable where Self: HasDocument {
  public func shouldUploadFiles(_ id: String) -> Bool { object?.shouldUploadFiles(id) ?? false }

  @discardableResult
  public func saveFiles(
    _ id: String, container: UploadContainer? = nil, block: (((any Error)?) -> Void)?
  ) -> [String: StorageUploadTask] {
    guard let object else {
      block?(nil)
      return [:]
    }
    return object.saveFiles(id, container: container, block: block)
  }

  public func deleteFiles(
    _ id: String, container: DeleteContainer? = nil, block: (((any Error)?) -> Void)? = nil
  ) {
    guard let object else {
      block?(nil)
      return
    }
    object.deleteFiles(id, container: container, block: block)
  }
}
