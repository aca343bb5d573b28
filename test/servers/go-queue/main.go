// What a service with go-queue's dq (v1.2.2) does, byte by byte: its module is not to be had everywhere, but what it is made of is.
//
//	go-queue produce TUBE ENDPOINT…            lines of "at UNIX_MS BODY" or "delay MS BODY" in, ids or "error …" out, a line each
//	go-queue revoke IDS                        prints "ok" or an error
//	go-queue consume TUBE REDIS ENDPOINT…      prints "ready" for each endpoint, then "WHAT UNIX_US BODY" of each copy that it takes:
//	                                           "deletes" before it does; "drops" (too late), "refused" (another one has the lock),
//	                                           "unlocked" (Redis did not answer) or "runs"; "done" or "failed" after a run
//	go-queue add TUBE JOBS AT_ONCE DUE_MS EVERY_US TEXT ENDPOINT…   adds {"n":…,"due":…,"text":…}, prints how many a second
//	go-queue measure TUBE REDIS JOBS ENDPOINT…                      prints "ready" as above, then, when so many have run, JSON of
//	                                                                the Measured below
package main

import (
	"bufio"
	"crypto/md5"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
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
	minWritten  = 2
	dialFor     = time.Second
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
	case "add":
		add(args[0], number(args[1]), number(args[2]), number(args[3]), number(args[4]), args[5], args[6:])
	case "measure":
		tell = measured(number(args[2]))
		consume(args[0], args[1], args[3:])
	}
}

// dq/producernode.go: the delay is what time.Duration has of whole seconds on its way to beanstalkd, so it is cut.
// dq/producer.go: all nodes at once, and enough of them must answer, else what is stored is deleted again.
func produce(tube string, endpoints []string) {
	conns := make([]*beanstalk.Conn, len(endpoints))
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
		ids := putAll(conns, endpoints, tube, body, delay)
		if len(ids) < min(minWritten, len(conns)) {
			_ = deleteAll(ids)
			say(fmt.Sprintf("error %d of %d nodes answered", len(ids), len(conns)))
			continue
		}
		say(strings.Join(ids, ","))
	}
}

// Adds jobs as a service does whose requests come at once, and counts the time from the first to the last answer.
func add(tube string, jobs, atOnce, dueMs, everyUs int, text string, endpoints []string) {
	conns := make([]*beanstalk.Conn, len(endpoints))
	for i, endpoint := range endpoints {
		conns[i] = dial(endpoint)
	}
	var next atomic.Int64
	var all sync.WaitGroup
	from := time.Now()
	for w := 0; w < atOnce; w++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for n := next.Add(1) - 1; n < int64(jobs); n = next.Add(1) - 1 {
				at := time.UnixMilli(int64(dueMs)).Add(time.Duration(n*int64(everyUs)) * time.Microsecond)
				body := fmt.Appendf(nil, `%d/{"n":%d,"due":%d,"text":"%s"}`, at.UnixNano(), n, at.UnixMilli(), text)
				if len(putAll(conns, endpoints, tube, body, time.Until(at))) != len(conns) {
					panic("a node did not answer")
				}
			}
		}()
	}
	all.Wait()
	say(fmt.Sprintf("%f", float64(jobs)/time.Since(from).Seconds()))
}

func putAll(conns []*beanstalk.Conn, endpoints []string, tube string, body []byte, delay time.Duration) []string {
	stored := make([]string, len(conns))
	var all sync.WaitGroup
	for i := range conns {
		all.Add(1)
		go func(i int) {
			defer all.Done()
			id, err := put(&conns[i], endpoints[i], tube, body, delay)
			if err == nil {
				stored[i] = fmt.Sprintf("%s/%s/%d", endpoints[i], tube, id)
			}
		}(i)
	}
	all.Wait()
	return slices.DeleteFunc(stored, func(id string) bool { return id == "" })
}

func put(conn **beanstalk.Conn, endpoint, tube string, body []byte, delay time.Duration) (uint64, error) {
	if *conn == nil {
		fresh, err := beanstalk.DialTimeout("tcp", endpoint, dialFor)
		if err != nil {
			return 0, err
		}
		*conn = fresh
	}
	id, err := beanstalk.NewTube(*conn, tube).Put(body, priority, delay, ttr)
	if err != nil {
		_ = (*conn).Close()
		*conn = nil
	}
	return id, err
}

func revoke(ids string) {
	if err := deleteAll(strings.Split(ids, ",")); err != nil {
		say("error " + err.Error())
		return
	}
	say("ok")
}

// dq/producernode.go: by number.
func deleteAll(ids []string) error {
	var failed error
	for _, each := range ids {
		parts := strings.Split(each, "/")
		id, _ := strconv.ParseUint(parts[2], 10, 64)
		conn, err := beanstalk.DialTimeout("tcp", parts[0], dialFor)
		if err == nil {
			err = conn.Delete(id)
			_ = conn.Close()
		}
		if err != nil {
			failed = err
		}
	}
	return failed
}

// dq/consumernode.go and dq/consumer.go: deletes first, then looks at the body, locks, and handles.
func consume(tube, host string, endpoints []string) {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // ends when the process that started this one does, also by a kill
		os.Exit(0)
	}()
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
				tell("deletes", body)
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
		tell("drops", body)
		return
	}
	nanos, err := strconv.ParseInt(whole[:at], 10, 64)
	if err != nil || time.Unix(0, nanos).Add(timeToLive).Before(time.Now()) {
		tell("drops", body)
		return
	}
	lock := redis.NewRedisLock(store, fmt.Sprintf("%x", md5.Sum(body)))
	lock.SetExpire(lockSeconds)
	if ok, err := lock.Acquire(); err != nil {
		tell("unlocked", body)
	} else if !ok {
		tell("refused", body)
	} else {
		tell("runs", body)
		tell(work(body[at+1:]), body)
	}
}

// The handler of the service: what the payload says, as those of the experiments do. dq has no second attempt.
func work(payload []byte) string {
	var task struct {
		Acts []struct {
			Ms  int
			End string
		}
	}
	_ = json.Unmarshal(payload, &task) // a payload may be anything
	if len(task.Acts) == 0 {
		return "done"
	}
	time.Sleep(time.Duration(task.Acts[0].Ms) * time.Millisecond)
	if task.Acts[0].End == "fail" {
		return "failed"
	}
	return "done"
}

var tell = func(what string, body []byte) {
	_, payload, _ := strings.Cut(string(body), delimiter)
	say(fmt.Sprintf("%s %d %s", what, time.Now().UnixMicro(), payload))
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

// When the first and the last run began, and how late each was, in milliseconds.
type Measured struct {
	First, Last float64
	Late        []float64
}

// Measures runs instead of telling them.
func measured(jobs int) func(string, []byte) {
	var all Measured
	var one sync.Mutex
	return func(what string, body []byte) {
		if what != "runs" {
			return
		}
		now := float64(time.Now().UnixNano()) / 1e6
		one.Lock()
		defer one.Unlock()
		due, _, _ := strings.Cut(string(body), delimiter)
		all.Late = append(all.Late, now-float64(number(due))/1e6)
		if all.First == 0 {
			all.First = now
		}
		all.Last = now
		if len(all.Late) == jobs {
			text, _ := json.Marshal(all)
			say(string(text))
		}
	}
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}
