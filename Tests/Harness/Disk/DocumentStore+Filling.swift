// Fills a simulated disk by documents of the store itself.

package import DocumentStore

extension DocumentStore {
  /// Takes all free space from the disk, also the space that the store frees later. Commits documents that
  /// only stores see, until not even a small one finds space. Commits at most `smallMax` small ones, and
  /// returns their number.
  @discardableResult
  package func fill(_ disk: SimulatedDisk, smallMax: Int = .max) -> Int {
    disk.setCapacity(0)
    var count = 0
    // A refused commit may begin a flush, after which others find space.
    for _ in 0..<10 {
      let before = disk.counters.bytesWritten
      for bytes in [3000, 600] { while commitFiller(bytes, disk) {} }
      while count < smallMax, commitFiller(0, disk) { count += 1 }
      if count >= smallMax || disk.counters.bytesWritten == before { break }
    }
    return count
  }

  private func commitFiller(_ bytes: Int, _ disk: SimulatedDisk) -> Bool {
    let path = DocumentPath(unchecked: ["__filler__", "\(disk.counters.operations)"])
    guard let time = StoredTimestamp(microseconds: 1) else { return false }
    let fields = StoredMap([("b", .bytes([UInt8](repeating: 7, count: bytes)))])
    let filler = StoredDocument(path: path, createTime: time, updateTime: time, fields: fields)
    return (try? commit([.place(filler)])) != nil
  }
}
