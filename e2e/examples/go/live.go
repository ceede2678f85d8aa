package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/longbridge/openapi-go/config"
	"github.com/longbridge/openapi-go/quote"
)

func main() {
	conf, err := config.New()
	if err != nil {
		log.Fatal(err)
	}
	quotes, err := quote.NewFromCfg(conf)
	if err != nil {
		log.Fatal(err)
	}
	defer quotes.Close()

	// Set before the first subscription: a push without a handler is dropped. Handlers run in the
	// reading loop and must not wait.
	pushes := make(chan *quote.PushQuote, 4096)
	quotes.OnQuote(func(push *quote.PushQuote) {
		select {
		case pushes <- push:
		default:
			log.Println("too slow:", push.Symbol)
		}
	})

	ctx, symbols := context.Background(), []string{"9001.HK", "9002.HK"}
	if err := quotes.Subscribe(ctx, symbols, []quote.SubType{quote.SubTypeQuote}, true); err != nil {
		log.Fatal(err)
	}
	// Subscribe returns no error when the server refuses.
	subscribed, err := quotes.Subscriptions(ctx)
	if err != nil {
		log.Fatal(err)
	}
	log.Println(len(subscribed), "subscribed")

	// The first two are the present state.
	for range 10 {
		select {
		case push := <-pushes:
			at := time.Unix(push.Timestamp, 0).UTC().Format(time.RFC3339)
			fmt.Println(at, push.Symbol, push.LastDone, push.Volume)
		case <-time.After(time.Minute):
			log.Fatal("no push for a minute")
		}
	}
}
