// Requests that have exactly one error each, so that both peers must know it.

extension RESTScript {
  /// A script of requests with one error each.
  init(errorsOf seed: UInt64) {
    self.init(seed: seed, database: "projects/e\(String(seed, radix: 36))/databases/(default)")
    let delete = #"{"delete":"\#(name("k/a"))""#
    for writes in [
      #"\#(delete),"updateMask":{"fieldPaths":["n"]}}"#,
      #"\#(delete),"updateTransforms":[{"fieldPath":"n","increment":{"integerValue":"1"}}]}"#,
      "{}", transform(""), transform(#"{"fieldPath":"n"}"#),
      transform(
        #"{"fieldPath":"m","increment":{"integerValue":"1"}},{"fieldPath":"m.k","increment":{"integerValue":"1"}}"#
      ),
      transform(#"{"fieldPath":"n","increment":{"stringValue":"1"}}"#),
      transform(#"{"fieldPath":"n","setToServerValue":"SERVER_VALUE_UNSPECIFIED"}"#),
      #"{"verify":"\#(name("k/a"))"}"#,
    ] + ["", "a..b", "__a__"].map({ transform(#"{"fieldPath":"\#($0)","increment":{"integerValue":"1"}}"#) })
    {
      add(step("POST", ":commit", commit([writes])))
    }
    add(step("POST", ":batchWrite", #"{"writes":[\#(delete)},\#(delete)}]}"#))
    let verify = #"{"verify":"\#(name("k/a"))","currentDocument":{"exists":true}}"#
    add(step("POST", ":commit", commit(["\(delete)}", verify])))
    add(step("POST", ":commit", commit([verify, "\(delete)}"])))
    for value in [
      #"{"geoPointValue":{"latitude":91}}"#, #"{"geoPointValue":{"longitude":-181}}"#,
      #"{"arrayValue":{"values":[{"arrayValue":{}}]}}"#,
      #"{"mapValue":{"fields":{"__type__":{"stringValue":"__vector__"}}}}"#,
    ] {
      add(
        step("POST", ":commit", commit([#"{"update":{"name":"\#(name("k/a"))","fields":{"n":\#(value)}}}"#])))
    }
    addTransaction()
    add(step("POST", ":listCollectionIds", #"{"pageToken":"zzz"}"#))
    for aggregation in [
      #""count":{"upTo":"-1"}"#, #""count":{},"alias":"__a__""#,
      #""sum":{"field":{"fieldPath":"__name__"}}"#, #""count":{},"alias":"a"},{"count":{},"alias":"a""#, "",
      #""sum":{}"#,
    ] {
      let query = #"{"structuredQuery":{"from":[{"collectionId":"k"}]},"aggregations":[{\#(aggregation)}]}"#
      add(step("POST", ":runAggregationQuery", #"{"structuredAggregationQuery":\#(query)}"#))
    }
    for id in ["a/b", "__a__"] {
      add(step("POST", ":runQuery", #"{"structuredQuery":{"from":[{"collectionId":"\#(id)"}]}}"#))
    }
    let test = #"{"unaryFilter":{"op":"IS_NOT_NULL","field":{"fieldPath":"n"}}}"#
    let single = #""where":{"compositeFilter":{"op":"AND","filters":[\#(test),\#(test)]}}"#
    let arrays = ["n", "s"].map { field in
      #"{"fieldFilter":{"field":{"fieldPath":"\#(field)"},"op":"ARRAY_CONTAINS","value":{"integerValue":"1"}}}"#
    }
    for query in [
      #""where":{"compositeFilter":{"op":"AND","filters":[\#(arrays.joined(separator: ","))]}}"#,
      #""limit":-1"#, #""offset":-1"#,
      #""orderBy":[{"field":{"fieldPath":"n"}},{"field":{"fieldPath":"n"}}]"#,
      #""orderBy":[{"field":{"fieldPath":"__name__"}},{"field":{"fieldPath":"n"}}]"#,
      #""startAt":{"values":[{"integerValue":"1"}]}"#,
      #""orderBy":[{"field":{"fieldPath":"__name__"}}],"startAt":{"values":[{"integerValue":"1"}]}"#,
      filter("n", "IN", #"{"integerValue":"1"}"#), filter("n", "NOT_IN", #"{"integerValue":"1"}"#),
      filter("n", "ARRAY_CONTAINS_ANY", #"{"integerValue":"1"}"#), filter("n", "IN", #"{"arrayValue":{}}"#),
      filter("n", "NOT_IN", #"{"arrayValue":{}}"#), filter("n", "ARRAY_CONTAINS_ANY", #"{"arrayValue":{}}"#),
      filter("__name__", "EQUAL", #"{"integerValue":"1"}"#),
      filter("__name__", "ARRAY_CONTAINS", #"{"referenceValue":"\#(name("k/a"))"}"#), #""where":{}"#,
      #""where":{"compositeFilter":{"op":"OR"}}"#, #""where":{"compositeFilter":{}}"#,
      #""where":{"unaryFilter":{}}"#, #""where":{"fieldFilter":{}}"#,
      #""where":{"unaryFilter":{"op":"IS_NULL","field":{"fieldPath":"__name__"}}}"#,
      #""where":{"unaryFilter":{"field":{"fieldPath":"n"}}}"#, single,
      #""orderBy":[{"field":{"fieldPath":"a..b"}}]"#,
    ] {
      add(step("POST", ":runQuery", #"{"structuredQuery":{"from":[{"collectionId":"k"}],\#(query)}}"#))
    }
  }

  private mutating func addTransaction() {
    var begin = step("POST", ":beginTransaction", #"{"options":{"readOnly":{}}}"#)
    begin.captures = [("readOnly", "transaction")]
    add(begin)
    add(step("POST", ":commit", commit([#"{"delete":"\#(name("k/a"))"}"#], in: "readOnly")))
  }

  private func transform(_ transforms: String) -> String {
    #"{"transform":{"document":"\#(name("k/a"))","fieldTransforms":[\#(transforms)]}}"#
  }

  private func filter(_ field: String, _ op: String, _ value: String) -> String {
    #""where":{"fieldFilter":{"field":{"fieldPath":"\#(field)"},"op":"\#(op)","value":\#(value)}}"#
  }
}
