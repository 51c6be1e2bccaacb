#!/usr/bin/env bash
# Calls Firestore's REST API with curl, and checks the answers.
#
#   Tests/clients/rest.sh HOST:PORT [--secret-file FILE] [--ca FILE]
#
# Without a secret, the server is used as an emulator. --ca uses TLS, and trusts the certificates of the file. Prints a
# line for each check, and exits with 1 if one fails.

set -uo pipefail

host="${1:?The address of a server is missing, such as 127.0.0.1:8080.}"
shift
scheme=http
token=owner
options=(--silent --show-error --max-time 30)
while [[ $# -gt 0 ]]; do
  case "$1" in
    --secret-file) token="$(<"$2")" ;;
    --ca)
      scheme=https
      options+=(--cacert "$2")
      ;;
    *)
      echo "Unknown option: $1" >&2
      exit 2
      ;;
  esac
  shift 2
done

database="projects/demo-rest/databases/(default)"
run="r$$x$RANDOM$RANDOM"
below="documents/rest/$run"
failures=0
count=0

main() {
  documents
  queries
  commits
  transactions
  lists
  refusals
  echo "rest: $count checks, $failures failed"
  [[ "$failures" == 0 ]]
}

documents() {
  call POST "$below/rooms?documentId=a" '{"fields": {"n": {"integerValue": "1"}, "text": {"stringValue": "é😀"}}}'
  expect "create" 200 '"name":"projects/demo-rest/databases/(default)/'"$below"'/rooms/a"' '"integerValue":"1"' é😀 createTime
  call POST "$below/rooms" '{"fields": {"n": {"integerValue": "2"}}}'
  expect "create with a generated name" 200 '"integerValue":"2"'
  generated="$(sed -E 's/.*"name":"[^"]*\/rooms\/([A-Za-z0-9]{20})".*/\1/' <<<"$answer")"
  call DELETE "$below/rooms/$generated"
  expect "delete" 200 '{}'
  call GET "$below/rooms/$generated"
  expect "get of nothing" 404 '"status":"NOT_FOUND"' '"code":404'
  call POST "$below/rooms?documentId=a" '{"fields": {}}'
  expect "create again" 409 '"status":"ALREADY_EXISTS"'
  call GET "$below/rooms/a"
  expect "get" 200 '"integerValue":"1"' updateTime
  call GET "$below/rooms/a?mask.fieldPaths=n"
  expect "get with a mask" 200 '"integerValue":"1"'
  refuse stringValue
  call PATCH "$below/rooms/a?updateMask.fieldPaths=n&updateMask.fieldPaths=in.x" \
    '{"fields": {"n": {"doubleValue": 1.5}, "in": {"mapValue": {"fields": {"x": {"booleanValue": true}, "y": {"nullValue": null}}}}}}'
  expect "patch with a mask" 200 '"doubleValue":1.5' '"booleanValue":true' é😀
  refuse '"y"'
  call PATCH "$below/rooms/b" '{"fields": {"n": {"integerValue": 7}}}'
  expect "patch of nothing" 200 '"integerValue":"7"'
  call PATCH "$below/rooms/none?currentDocument.exists=true" '{"fields": {}}'
  expect "patch that must exist" 404 '"status":"NOT_FOUND"'
}

queries() {
  local from='"from": [{"collectionId": "rooms"}]'
  call POST "$below:runQuery" '{"structuredQuery": {'"$from"', "orderBy": [{"field": {"fieldPath": "n"}, "direction": "DESCENDING"}]}}'
  expect "query" 200 '"integerValue":"7"' '"doubleValue":1.5' readTime
  call POST "$below:runQuery" '{"structuredQuery": {'"$from"', "where": {"fieldFilter":
    {"field": {"fieldPath": "n"}, "op": "LESS_THAN", "value": {"integerValue": "5"}}}}}'
  expect "query with a filter" 200 '"doubleValue":1.5'
  refuse '"integerValue":"7"'
  call POST "$below:runAggregationQuery" '{"structuredAggregationQuery": {"structuredQuery": {'"$from"'},
    "aggregations": [{"alias": "count", "count": {}}, {"alias": "sum", "sum": {"field": {"fieldPath": "n"}}}]}}'
  expect "aggregation" 200 '"count":{"integerValue":"2"}' '"sum":{"doubleValue":8.5}'
  # The web client sends JSON as text.
  call POST "$below:runQuery" '{"structuredQuery": {'"$from"', "limit": 1}}' text/plain
  expect "query as text" 200 readTime '"name":'
}

commits() {
  call POST documents:commit '{"writes": [
    {"update": {"name": "'"$database/$below"'/rooms/c", "fields": {"n": {"integerValue": "1"}}}},
    {"transform": {"document": "'"$database/$below"'/rooms/c",
      "fieldTransforms": [{"fieldPath": "n", "increment": {"integerValue": "4"}}]}}]}'
  expect "commit" 200 commitTime '"transformResults":[{"integerValue":"5"}]'
  call POST documents:batchGet '{"documents": ["'"$database/$below"'/rooms/c", "'"$database/$below"'/rooms/none"]}'
  expect "batchGet" 200 '"found":' '"missing":"'"$database/$below"'/rooms/none"' '"integerValue":"5"'
  call POST documents:batchWrite '{"writes": [
    {"delete": "'"$database/$below"'/rooms/none", "currentDocument": {"exists": true}},
    {"update": {"name": "'"$database/$below"'/rooms/d", "fields": {}}}]}'
  expect "batchWrite" 200 '"code":5' updateTime
  call POST documents:commit '{"writes": [{"delete": "'"$database/$below"'/rooms/none", "currentDocument": {"exists": true}}]}'
  expect "commit that fails" 404 '"status":"NOT_FOUND"'
}

transactions() {
  local transaction
  call POST documents:beginTransaction '{}'
  expect "beginTransaction" 200 '"transaction":"'
  transaction="$(sed -E 's/.*"transaction":"([^"]*)".*/\1/' <<<"$answer")"
  call POST documents:batchGet '{"documents": ["'"$database/$below"'/rooms/c"], "transaction": "'"$transaction"'"}'
  expect "read in a transaction" 200 '"integerValue":"5"'
  call POST documents:commit '{"transaction": "'"$transaction"'", "writes": [
    {"update": {"name": "'"$database/$below"'/rooms/c", "fields": {"n": {"integerValue": "6"}}}}]}'
  expect "commit of a transaction" 200 commitTime
  call POST documents:commit '{"transaction": "'"$transaction"'", "writes": []}'
  expect "commit again" 400 '"status":"INVALID_ARGUMENT"'
  call POST documents:beginTransaction '{}'
  transaction="$(sed -E 's/.*"transaction":"([^"]*)".*/\1/' <<<"$answer")"
  call POST documents:rollback '{"transaction": "'"$transaction"'"}'
  expect "rollback" 200 '{}'
}

lists() {
  call GET "$below/rooms?pageSize=2"
  expect "list" 200 rooms/a rooms/b nextPageToken
  refuse rooms/c
  call GET "$below/rooms?pageSize=2&pageToken=$(sed -E 's/.*"nextPageToken":"([^"]*)".*/\1/; s/\+/%2B/g; s/=/%3D/g; s/\//%2F/g' <<<"$answer")"
  expect "next page" 200 rooms/c rooms/d
  refuse rooms/a
  call POST "$below:listCollectionIds" '{}'
  expect "collections" 200 '"collectionIds":["rooms"]'
}

refusals() {
  call POST "$below/rooms" '{"fields": {'
  expect "cut JSON" 400 '"status":"INVALID_ARGUMENT"'
  call POST "$below/rooms" '{"fields": {"n": {"integerValue": "many"}}}'
  expect "wrong number" 400 '"status":"INVALID_ARGUMENT"'
  call POST documents:nothing '{}'
  expect "unknown method" 404
  call GET "documents/a"
  expect "name of a collection without documents" 200 '{}'
  local name
  for name in a b c d; do call DELETE "$below/rooms/$name"; done
  call GET "$below/rooms"
  expect "list of nothing" 200 '{}'
}

# call METHOD PATH [BODY [TYPE]]: sets `status` and `answer`, which is without spaces.
call() {
  local arguments=(--request "$1" --header "Authorization: Bearer $token" --write-out '\n%{http_code}')
  if [[ $# -gt 2 ]]; then
    arguments+=(--header "Content-Type: ${4:-application/json}" --data-binary "$3")
  fi
  answer="$(curl "${options[@]}" "${arguments[@]}" --globoff "$scheme://$host/v1/$database/$2")"
  status="${answer##*$'\n'}"
  answer="$(tr -d ' \n\t' <<<"${answer%$'\n'*}")"
}

# expect NAME STATUS TEXT…: the answer has the status, and contains each text.
expect() {
  local text
  name="$1"
  count=$((count + 1))
  if [[ "$status" != "$2" ]]; then
    fail "status $status instead of $2"
    return
  fi
  shift 2
  for text in "$@"; do
    if [[ "$answer" != *"$text"* ]]; then
      fail "no $text"
      return
    fi
  done
  echo "rest: ok: $name"
}

# refuse TEXT: the last answer does not contain the text.
refuse() {
  if [[ "$answer" == *"$1"* ]]; then fail "contains $1"; fi
}

fail() {
  failures=$((failures + 1))
  echo "rest: FAILED: $name: $1: $answer" >&2
}

main
