// What a service with go-queue's dq (v1.2.2) does, byte by byte: its module is not to be had everywhere, but what it is made of is.
//
//	go-queue produce TUBE ENDPOINT…            lines of "at UNIX_MS BODY" or "delay MS BODY" in, ids out, a line each
//	go-queue revoke IDS                        prints "ok" or an error
//	go-queue consume TUBE REDIS ENDPOINT…      prints "UNIX_MS BODY" of each job that it runs, "ready" first
package main

import (
	"bufio"
	"crypto/md5"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/beanstalkd/go-beanstalk"
	"github.com/zeromicro/go-zero/core/logx"
	"github.com/zeromicro/go-zero/core/stores/redis"
)

// dq/vars.go: a body is its time in nanoseconds, this, and the payload; what is later than timeToLive is dropped.
const (
	delimiter   = "/"
	priority    = 2
	ttr         = 5 * time.Second
	reserveFor  = 5 * time.Second
	timeToLive  = 30 * time.Minute
	lockSeconds = 3600
)

var printing sync.Mutex

func say(line string) {
	printing.Lock()
	defer printing.Unlock()
	fmt.Println(line)
}

func main() {
	logx.Disable()
	args := os.Args[2:]
	switch os.Args[1] {
	case "produce":
		produce(args[0], args[1:])
	case "revoke":
		revoke(args[0])
	case "consume":
		consume(args[0], args[1], args[2:])
	}
}

// dq/producernode.go: the delay is what time.Duration has of whole seconds on its way to beanstalkd, so it is cut.
func produce(tube string, endpoints []string) {
	conns := make([]*beanstalk.Conn, len(endpoints))
	for i, endpoint := range endpoints {
		conns[i] = dial(endpoint)
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.SplitN(lines.Text(), " ", 3)
		ms, _ := strconv.ParseInt(words[1], 10, 64)
		at := time.UnixMilli(ms)
		if words[0] == "delay" {
			at = time.Now().Add(time.Duration(ms) * time.Millisecond)
		}
		body := []byte(strconv.FormatInt(at.UnixNano(), 10) + delimiter + words[2])
		delay := time.Until(at)
		if words[0] == "delay" {
			delay = time.Duration(ms) * time.Millisecond
		}
		ids := make([]string, len(conns))
		for i, conn := range conns {
			t := beanstalk.NewTube(conn, tube)
			id, err := t.Put(body, priority, delay, ttr)
			if err != nil {
				say("error " + err.Error())
				continue
			}
			ids[i] = fmt.Sprintf("%s/%s/%d", endpoints[i], tube, id)
		}
		say(strings.Join(ids, ","))
	}
}

// dq/producernode.go: by number.
func revoke(ids string) {
	var failed error
	for _, each := range strings.Split(ids, ",") {
		parts := strings.Split(each, "/")
		id, _ := strconv.ParseUint(parts[2], 10, 64)
		if err := dial(parts[0]).Delete(id); err != nil {
			failed = err
		}
	}
	if failed != nil {
		say("error " + failed.Error())
		return
	}
	say("ok")
}

// dq/consumernode.go and dq/consumer.go: deletes first, then looks at the body, locks, and handles.
func consume(tube, host string, endpoints []string) {
	store := redis.MustNewRedis(redis.RedisConf{Host: host, Type: redis.NodeType})
	var all sync.WaitGroup
	for _, endpoint := range endpoints {
		all.Add(1)
		go func(endpoint string) {
			defer all.Done()
			conn := dial(endpoint)
			say("ready")
			for {
				// With the tube, go-beanstalk watches "default".
				set := beanstalk.NewTubeSet(conn, tube, "default")
				id, body, err := set.Reserve(reserveFor)
				if err != nil {
					if errors.Is(err, beanstalk.ErrTimeout) {
						continue
					}
					time.Sleep(time.Second)
					conn = dial(endpoint)
					continue
				}
				_ = conn.Delete(id)
				handle(store, body)
			}
		}(endpoint)
	}
	all.Wait()
}

func handle(store *redis.Redis, body []byte) {
	whole := string(body)
	at := strings.Index(whole, delimiter)
	if at <= 0 || at > 20 {
		return
	}
	nanos, err := strconv.ParseInt(whole[:at], 10, 64)
	if err != nil || time.Unix(0, nanos).Add(timeToLive).Before(time.Now()) {
		return
	}
	lock := redis.NewRedisLock(store, fmt.Sprintf("%x", md5.Sum(body)))
	lock.SetExpire(lockSeconds)
	if ok, err := lock.Acquire(); err != nil || !ok {
		return
	}
	say(fmt.Sprintf("%d %s", time.Now().UnixMilli(), whole[at+1:]))
}

func dial(endpoint string) *beanstalk.Conn {
	for {
		conn, err := beanstalk.Dial("tcp", endpoint)
		if err == nil {
			return conn
		}
		time.Sleep(100 * time.Millisecond)
	}
}
