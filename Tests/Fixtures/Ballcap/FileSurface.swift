// Every call of the layer that concerns files, as written for the original Ballcap.

import Ballcap
import FirebaseFirestore
import FirebaseStorage

private struct Album: Codable, Modelable {
  var cover: File?
  var pages: [File] = []
}

private final class Cell: FileRepresentable {
  var file: File

  init(_ file: File) { self.file = file }

  func show() {
    let task: StorageDownloadTask? = load { file, error in print(file?.data as Any, error as Any) }
    load(1024)
    _ = (task, uploadTask, downloadTask)
    cancel()
  }
}

/// An app's own description of a file.
private struct Attachment: Storable {
  var storageReference: StorageReference
  var path: String
  var url: URL?
  var mimeType: File.MIMEType
  var metadata: [String: String]
}

private func files(_ reference: StorageReference, _ data: Data) {
  let album = Document<Album>(id: "a")
  let file = File(reference, data: data, mimeType: .png, url: nil, metadata: ["by": "ada"])
  let others: [File] = [
    File(reference), File(album), File(album, name: "cover", data: data, mimeType: .jpeg),
    File(reference, data: data), File(album, metadata: [:]),
  ]
  file.originalURL = URL(fileURLWithPath: "/picture.png")
  file.metadata["for"] = "eve"
  let upload: StorageUploadTask? = file.save { metadata, error in print(metadata as Any, error as Any) }
  file.save(nil)
  _ = upload?.observe(.progress) { snapshot in print(snapshot.progress as Any) }
  let download: StorageDownloadTask? = file.getData { data, error in print(data as Any, error as Any) }
  file.getData(1024) { _, _ in }
  file.delete { error in print(error as Any) }
  file.delete(nil)
  let known: (Data?, String, Bool, StorageMetadata?, URL?) = (
    file.data, file.name, file.isUploaded, file.storageMetadata, file.url
  )
  _ = (known, download, file.debugDescription, file.storageReference, file.path, file.mimeType)
  _ = (file.uploadTask, file.downloadTask, file == others[0], Set(others).contains(file))
  album[\.cover] = file
  album[\.pages] = others
  var attachment = Attachment(
    storageReference: reference, path: reference.fullPath, url: nil, mimeType: .plain, metadata: [:])
  attachment.data = data
  _ = (attachment.uploadTask, attachment.downloadTask)
}

private func kinds() {
  let kinds: [File.MIMEType] = [
    .plain, .csv, .html, .css, .javascript, .octetStream(nil), .octetStream("bin"), .pdf, .zip, .tar, .lzh,
    .jpeg, .pjpeg, .png, .gif, .mp4, .custom("application/json", "json"),
  ]
  let texts: [String] = kinds.map { $0.rawValue + $0.fileExtension }
  print(texts, kinds[0] == .plain)
}

private func bytes(_ reference: StorageReference, _ data: Data) {
  let manager = Ballcap.FileManager.shared
  manager.set(storageReference: reference, data: data)
  manager.set(key: "a", data: data)
  let found: [Data?] = [manager.get(storageReference: reference), manager.get(key: "a")]
  manager.delete(reference: reference)
  manager.delete(key: "a")
  _ = found
}

private func batches(_ file: File, _ files: [File]) {
  let begun: [File] = StorageBatch().save(file).save(files).delete(file).delete(files).commit { error in
    switch error {
    case StorageBatchError.invalidData(let file)?: print(file.path)
    case StorageBatchError.timeout?: print("late")
    case let error as FileError: print(error.description)
    default: print("done")
    }
  }
  StorageBatch().commit()
  _ = begun
  for error in [FileError.timeout, .invalidData(file)] {
    switch error {
    case .invalidData(let storable): print(storable.path)
    case .timeout: print(error.description, StorageBatchError.timeout.description)
    }
  }
}
