import { metrics, type Attributes, type BatchObservableCallback } from '@opentelemetry/api';
import type { DeadMessage, KqEventMap, KqEventName } from '../events/events.js';
import type { KqClusterView } from '../events/hooks.js';
import { GROUP, PARTITION, SCOPE, topicAttributes } from './names.js';
import { errorType } from './tracing.js';

/** Histogram buckets in seconds, from the semantic conventions. */
const DURATIONS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
/** Histogram buckets in seconds, from a consumer waiting for messages to a day of downtime. */
const LATENESSES = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600, 3_600, 86_400,
];

/** Measurements made by the hooks. */
export interface Measured {
  /** Records the duration of a push or a `pushMany`, in seconds. */
  pushed(seconds: number, attributes: Attributes): void;
  /** Records the number of messages of a handler call. */
  called(messages: number, attributes: Attributes): void;
  /** Records the duration of a handler call, in seconds. */
  ran(seconds: number, attributes: Attributes): void;
  /** Stops reporting. */
  stop(): void;
}

/** Counts the events of this process, and reports the load when a reader collects. */
export function recordMetrics({ events, load }: KqClusterView, ofCluster: Attributes): Measured {
  const meter = metrics.getMeter(SCOPE);
  const counter = (metric: string, unit: string, description: string) =>
    meter.createCounter(metric, { unit, description });
  const seconds = (metric: string, description: string, explicitBucketBoundaries: number[]) =>
    meter.createHistogram(metric, { unit: 's', description, advice: { explicitBucketBoundaries } });
  const send = (topic: string, more?: Attributes): Attributes => ({
    ...topicAttributes(topic, 'send'),
    ...ofCluster,
    ...more,
  });
  const process = ({ message, group }: Of, more?: Attributes): Attributes => ({
    ...topicAttributes(message.topic, 'process'),
    [GROUP]: group,
    ...ofCluster,
    ...more,
  });

  const operation = seconds('messaging.client.operation.duration', 'Duration of pushes', DURATIONS);
  const sent = counter('messaging.client.sent.messages', '{message}', 'Messages pushed by this process');
  const consumed = counter('messaging.client.consumed.messages', '{message}', 'Messages passed to handlers');
  const duration = seconds('messaging.process.duration', 'Duration of handlers', DURATIONS);
  const handled = counter('kq.message.handled', '{message}', 'Messages handled successfully');
  const lateness = seconds(
    'kq.message.lateness',
    "Time from a message's timestamp to its successful run",
    LATENESSES,
  );
  const failures = counter(
    'kq.message.failed',
    '{message}',
    'Messages whose run failed and that are retried',
  );
  const dead = counter('kq.message.dead', '{message}', 'Messages no run could handle');
  const held = counter(
    'kq.message.held',
    '{message}',
    'Times a failed message that could not be stored blocked those after it',
  );
  const stalls = counter('kq.partition.stalls', '{stall}', 'Times one message stalled its partition');
  const skips = counter('kq.partition.skipped', '{message}', 'Offsets removed before they were handled');
  const rebalances = counter(
    'kq.group.rebalances',
    '{rebalance}',
    'Assignments of partitions to this process',
  );
  const unCommitted = counter('kq.group.commits.failed', '{commit}', 'Commits that failed and were retried');
  const failed = (event: Of & { readonly error: Error }, next: 'in_place' | 'nest_dq' | 'topic') =>
    failures.add(1, process(event, { 'error.type': errorType(event.error), 'kq.message.next': next }));
  const died = (event: DeadMessage, fate: 'stored' | 'dropped') =>
    dead.add(1, process(event, { 'kq.message.why': event.why, 'kq.message.fate': fate }));
  const subscriptions = [
    on('pushed', ({ topic }) => sent.add(1, send(topic))),
    on('pushFailed', ({ topic, error }) => sent.add(1, send(topic, { 'error.type': errorType(error) }))),
    on('handled', (event) => {
      const attributes = process(event);
      handled.add(1, attributes);
      lateness.record(event.lateness / 1_000, attributes);
    }),
    on('failed', (event) => failed(event, 'in_place')),
    on('deferred', (event) => failed(event, event.to === 'nest-dq' ? 'nest_dq' : 'topic')),
    on('died', (event) => died(event, 'stored')),
    on('dropped', (event) => died(event, 'dropped')),
    on('held', (event) => held.add(1, process(event))),
    on('notDeferred', (event) => held.add(1, process(event))),
    on('stalled', ({ topic, group }) => stalls.add(1, process({ message: { topic }, group }))),
    on('skipped', ({ topic, group, count }) => skips.add(count, process({ message: { topic }, group }))),
    on('rebalanced', ({ group }) => rebalances.add(1, { [GROUP]: group, ...ofCluster })),
    on('commitFailed', ({ group }) => unCommitted.add(1, { [GROUP]: group, ...ofCluster })),
  ];

  const sum = (metric: string, unit: string, description: string) =>
    meter.createObservableUpDownCounter(metric, { unit, description });
  const gauge = (metric: string, unit: string, description: string) =>
    meter.createObservableGauge(metric, { unit, description });
  const running = sum('kq.handler.running', '{run}', 'Handler calls in progress');
  const pushing = sum('kq.push.pending', '{message}', 'Pushed messages awaiting acknowledgement');
  const up = gauge('kq.group.up', '1', 'Whether this process is in the group (1 or 0)');
  const assigned = sum('kq.group.partitions', '{partition}', 'Partitions assigned to this process');
  const lag = gauge('kq.partition.lag', '{message}', 'Unhandled messages as of the last fetch');
  const observed = [running, pushing, up, assigned, lag];
  const observe: BatchObservableCallback = (result) => {
    const now = load();
    result.observe(pushing, now.pushing, ofCluster);
    for (const each of now.groups) {
      const attributes = { [GROUP]: each.group, ...ofCluster };
      result.observe(running, each.running, attributes);
      result.observe(up, each.up ? 1 : 0, attributes);
      result.observe(assigned, each.partitions.length, attributes);
      for (const { topic, partition, lag: messages } of each.partitions) {
        if (messages === undefined) continue;
        const of = { 'messaging.destination.name': topic, [PARTITION]: String(partition) };
        result.observe(lag, messages, { ...of, ...attributes });
      }
    }
  };
  meter.addBatchObservableCallback(observe, observed);

  return {
    pushed: (took, attributes) => operation.record(took, attributes),
    called: (messages, attributes) => consumed.add(messages, attributes),
    ran: (took, attributes) => duration.record(took, attributes),
    stop() {
      for (const subscription of subscriptions) subscription.unsubscribe();
      meter.removeBatchObservableCallback(observe, observed);
    },
  };

  function on<N extends KqEventName>(event: N, listener: (event: KqEventMap[N]) => void) {
    return events.on(event).subscribe(listener);
  }
}

interface Of {
  readonly message: { readonly topic: string };
  readonly group: string;
}
