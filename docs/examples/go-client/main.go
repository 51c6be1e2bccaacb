// Command go-client uses Google's Go client: it writes, reads, queries, counts in a transaction, and listens. It prints
// the same lines on each run. README.md describes how it finds the server.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"sort"
	"strings"
	"sync"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/api/iterator"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// City is stored as a document with these fields.
type City struct {
	Name       string   `firestore:"name"`
	Population int      `firestore:"population"`
	Tags       []string `firestore:"tags,omitempty"`
}

var cities = map[string]City{
	"berlin": {Name: "Berlin", Population: 3_700_000, Tags: []string{"capital", "river"}},
	"bonn":   {Name: "Bonn", Population: 330_000, Tags: []string{"river"}},
	"bern":   {Name: "Bern", Population: 134_000, Tags: []string{"capital", "river"}},
}

func main() {
	log.SetFlags(0)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client := connect(ctx)
	defer client.Close()
	// Each run has a collection of its own, so that runs do not see each other.
	collection := client.Collection("runs").NewDoc().Collection("cities")
	write(ctx, client, collection)
	read(ctx, client, collection)
	query(ctx, collection)
	transaction(ctx, client, collection)
	listen(ctx, collection)
	refusals(ctx, collection)
	remove(ctx, client, collection)
}

func connect(ctx context.Context) *firestore.Client {
	var options []option.ClientOption
	if host := os.Getenv("FIRESTORE_HOST"); host != "" {
		connection, err := grpc.Dial(
			host, grpc.WithInsecure(), grpc.WithPerRPCCredentials(secret(os.Getenv("FIRESTORE_SECRET"))))
		check(err)
		options = append(options, option.WithGRPCConn(connection))
	} else if os.Getenv("FIRESTORE_EMULATOR_HOST") == "" {
		log.Fatal("Set FIRESTORE_EMULATOR_HOST to the address of a Firestore, such as 127.0.0.1:8080.")
	}
	client, err := firestore.NewClient(ctx, "demo-go", options...)
	check(err)
	return client
}

// secret is sent as a bearer token with each call, also without TLS. Use this on the loopback interface only.
type secret string

func (secret secret) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(secret)}, nil
}

func (secret) RequireTransportSecurity() bool { return false }

func write(ctx context.Context, client *firestore.Client, collection *firestore.CollectionRef) {
	batch := client.Batch()
	for id, city := range cities {
		batch.Create(collection.Doc(id), city)
	}
	results, err := batch.Commit(ctx)
	check(err)
	fmt.Println("written:", len(results))

	_, err = collection.Doc("bern").Update(ctx, []firestore.Update{
		{Path: "population", Value: firestore.Increment(1_000)},
		{Path: "tags", Value: firestore.ArrayUnion("small")},
		{Path: "founded.year", Value: 1191},
		{Path: "written", Value: firestore.ServerTimestamp},
	})
	check(err)
	_, err = collection.Doc("bonn").Set(ctx, map[string]interface{}{"former": true}, firestore.MergeAll)
	check(err)
}

func read(ctx context.Context, client *firestore.Client, collection *firestore.CollectionRef) {
	snapshot, err := collection.Doc("bern").Get(ctx)
	check(err)
	var bern City
	check(snapshot.DataTo(&bern))
	year, err := snapshot.DataAt("founded.year")
	check(err)
	written, err := snapshot.DataAt("written")
	check(err)
	fmt.Println("bern:", bern.Population, bern.Tags, year, written.(time.Time).Year() > 2000)

	snapshots, err := client.GetAll(ctx, []*firestore.DocumentRef{collection.Doc("bonn"), collection.Doc("basel")})
	check(err)
	for _, snapshot := range snapshots {
		fmt.Println(snapshot.Ref.ID, "exists:", snapshot.Exists())
	}
	merged, err := collection.Doc("bonn").Get(ctx)
	check(err)
	fmt.Println("bonn:", merged.Data()["former"], merged.Data()["name"])
}

func query(ctx context.Context, collection *firestore.CollectionRef) {
	ids := func(query firestore.Query) string {
		snapshots, err := query.Documents(ctx).GetAll()
		check(err)
		var found []string
		for _, snapshot := range snapshots {
			found = append(found, snapshot.Ref.ID)
		}
		return strings.Join(found, " ")
	}
	fmt.Println("by population:", ids(collection.OrderBy("population", firestore.Desc)))
	fmt.Println("large:", ids(collection.Where("population", ">", 200_000).OrderBy("population", firestore.Asc)))
	fmt.Println("capitals:", ids(collection.Where("tags", "array-contains", "capital")))
	fmt.Println("some:", ids(collection.Where("name", "in", []string{"Bonn", "Bern"}).Limit(1)))
	fmt.Println("after:", ids(collection.OrderBy("name", firestore.Asc).StartAfter("Berlin")))
	collections, err := collection.Parent.Collections(ctx).GetAll()
	check(err)
	fmt.Println("collections:", len(collections), collections[0].ID)
}

// transaction lets goroutines increment one counter. The client repeats a transaction that loses a race.
func transaction(ctx context.Context, client *firestore.Client, collection *firestore.CollectionRef) {
	const count = 4
	counter := collection.Doc("counter")
	_, err := counter.Set(ctx, map[string]int{"n": 0})
	check(err)
	var group sync.WaitGroup
	for i := 0; i < count; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			check(client.RunTransaction(ctx, func(ctx context.Context, tx *firestore.Transaction) error {
				snapshot, err := tx.Get(counter)
				if err != nil {
					return err
				}
				n, err := snapshot.DataAt("n")
				if err != nil {
					return err
				}
				return tx.Update(counter, []firestore.Update{{Path: "n", Value: n.(int64) + 1}})
			}, firestore.MaxAttempts(100)))
		}()
	}
	group.Wait()
	snapshot, err := counter.Get(ctx)
	check(err)
	fmt.Println("counted:", snapshot.Data()["n"])
	_, err = counter.Delete(ctx, firestore.Exists)
	check(err)
}

// listen prints the changes of a query while the documents change.
func listen(ctx context.Context, collection *firestore.CollectionRef) {
	snapshots := collection.Where("population", ">", 200_000).Snapshots(ctx)
	defer snapshots.Stop()
	kinds := map[firestore.DocumentChangeKind]string{
		firestore.DocumentAdded: "added", firestore.DocumentModified: "modified", firestore.DocumentRemoved: "removed",
	}
	next := func() {
		snapshot, err := snapshots.Next()
		check(err)
		var changes []string
		for _, change := range snapshot.Changes {
			changes = append(changes, kinds[change.Kind]+" "+change.Doc.Ref.ID)
		}
		sort.Strings(changes)
		fmt.Println("snapshot of", snapshot.Size, "documents:", strings.Join(changes, ", "))
	}
	next()
	_, err := collection.Doc("basel").Set(ctx, City{Name: "Basel", Population: 201_000})
	check(err)
	next()
	_, err = collection.Doc("bonn").Update(ctx, []firestore.Update{{Path: "population", Value: 340_000}})
	check(err)
	next()
	_, err = collection.Doc("basel").Update(ctx, []firestore.Update{{Path: "population", Value: 173_000}})
	check(err)
	next()
}

func refusals(ctx context.Context, collection *firestore.CollectionRef) {
	_, err := collection.Doc("bonn").Create(ctx, cities["bonn"])
	fmt.Println("create again:", status.Code(err))
	_, err = collection.Doc("basra").Update(ctx, []firestore.Update{{Path: "population", Value: 1}})
	fmt.Println("update of nothing:", status.Code(err))
	_, err = collection.Doc("basra").Get(ctx)
	fmt.Println("get of nothing:", status.Code(err))
	_, err = collection.Doc("bonn").Delete(ctx, firestore.LastUpdateTime(time.Unix(1, 0)))
	fmt.Println("stale delete:", status.Code(err) == codes.FailedPrecondition)
}

func remove(ctx context.Context, client *firestore.Client, collection *firestore.CollectionRef) {
	documents := collection.DocumentRefs(ctx)
	batch, count := client.Batch(), 0
	for {
		document, err := documents.Next()
		if err == iterator.Done {
			break
		}
		check(err)
		batch.Delete(document)
		count++
	}
	_, err := batch.Commit(ctx)
	check(err)
	left, err := collection.Documents(ctx).GetAll()
	check(err)
	fmt.Println("removed:", count, "left:", len(left))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
