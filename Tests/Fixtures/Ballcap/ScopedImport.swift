// One line more than code written for the original: a model outside of any class names Ballcap's type as it did.

import Ballcap
import FirebaseFirestore

import enum Ballcap.ServerTimestamp

private struct Article: Codable, Modelable {
  var title: String = ""
  var seen: ServerTimestamp = .pending
}

private func text(_ time: ServerTimestamp) -> String {
  switch time {
  case .pending: return "pending"
  case .resolved(let time): return "\(time.seconds)"
  }
}

private func titles() -> [String] {
  let article = Document<Article>(id: "a")
  return [article[\.title], text(article[\.seen]), text(ServerTimestamp.pending)]
}
