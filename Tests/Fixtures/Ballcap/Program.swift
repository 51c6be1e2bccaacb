// A small program as written for the original Ballcap: a model outside of any class with a
// `ServerTimestamp`, both imports, closures, and objects that nothing retains during a write.
//
// Tests compile it with and without optimization, and run it. `Newsroom().open { … }` starts it, on the
// main queue.

import Ballcap
import FirebaseFirestore

struct Article: Codable, Modelable {
  var title: String = ""
  var likes: IncrementableInt = 0
  var publishedAt: ServerTimestamp = .pending
}

final class Author: Object, DataRepresentable, DataListenable, HierarchicalStructurable {
  override class var name: String { return "authors" }

  struct Model: Modelable, Codable {
    var name: String = ""
    var joinedAt: ServerTimestamp = .pending
  }

  enum CollectionKeys: String {
    case articles
  }

  var data: Author.Model?
  var listener: ListenerRegistration?
}

func text(_ time: ServerTimestamp) -> String {
  switch time {
  case .pending: return "pending"
  case .resolved(let timestamp): return timestamp.seconds > 0 ? "resolved" : "nothing"
  }
}

final class Newsroom {
  var dataSource: DataSource<Document<Article>>?

  func open(_ completion: @escaping () -> Void) {
    let author = Author(id: "ada")
    author[\.name] = "Ada"
    // Nothing retains the author from here on.
    author.save(reference: Author.collectionReference.document("copy")) { [weak author] error in
      print("copied:", author == nil ? "freed" : "kept", error == nil)
      self.hire(completion)
    }
  }

  func hire(_ completion: @escaping () -> Void) {
    let author = Author(id: "ada")
    author[\.name] = "Ada"
    author.save { [weak author] error in
      print("saved:", author == nil ? "freed" : "kept", error == nil)
      self.publish(completion)
    }
  }

  func publish(_ completion: @escaping () -> Void) {
    let articles: CollectionReference = Author(id: "ada").collection(path: .articles)
    let article: Document<Article> = Document(id: "first", collectionReference: articles)
    article[\.title] = "First"
    article.data?.publishedAt = ServerTimestamp.pending
    let batch = Batch()
    batch.save(article)
    batch.commit { error in
      article[\.likes] = .increment(1)
      article.update { [weak article] error in
        print("published:", article == nil ? "freed" : "kept", error == nil)
        self.list(articles, completion)
      }
    }
  }

  func list(_ articles: CollectionReference, _ completion: @escaping () -> Void) {
    dataSource = DataSource<Document<Article>>.Query(articles).order(by: "title").limit(to: 20).dataSource()
      .onChanged { snapshot, change in
        for article in change.after {
          print("listed:", article[\.title], article[\.likes].rawValue, text(article[\.publishedAt]))
        }
        completion()
      }
      .get()
  }
}
