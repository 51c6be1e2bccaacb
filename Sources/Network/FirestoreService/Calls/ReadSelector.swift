// The time at which a call reads.

internal import FirestoreWire

/// One type for the `consistency_selector` of all requests.
enum ReadSelector {
  case now
  case transaction([UInt8])
  case newTransaction(Wire.TransactionOptions)
  case readTime(Wire.Timestamp)
}

extension ReadSelector {
  init(_ selector: Wire.BatchGetDocumentsRequest.ConsistencySelector?) {
    switch selector {
    case .transaction(let id): self = .transaction(id)
    case .newTransaction(let options): self = .newTransaction(options)
    case .readTime(let time): self = .readTime(time)
    case nil: self = .now
    }
  }

  init(_ selector: Wire.RunQueryRequest.ConsistencySelector?) {
    switch selector {
    case .transaction(let id): self = .transaction(id)
    case .newTransaction(let options): self = .newTransaction(options)
    case .readTime(let time): self = .readTime(time)
    case nil: self = .now
    }
  }

  init(_ selector: Wire.RunAggregationQueryRequest.ConsistencySelector?) {
    switch selector {
    case .transaction(let id): self = .transaction(id)
    case .newTransaction(let options): self = .newTransaction(options)
    case .readTime(let time): self = .readTime(time)
    case nil: self = .now
    }
  }

  init(_ selector: Wire.GetDocumentRequest.ConsistencySelector?) {
    switch selector {
    case .transaction(let id): self = .transaction(id)
    case .readTime(let time): self = .readTime(time)
    case nil: self = .now
    }
  }

  init(_ selector: Wire.ListDocumentsRequest.ConsistencySelector?) {
    switch selector {
    case .transaction(let id): self = .transaction(id)
    case .readTime(let time): self = .readTime(time)
    case nil: self = .now
    }
  }
}
