import {
  context,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Link,
  type Span,
} from '@opentelemetry/api';
import type { Pushed, PushResult } from '../api/message.js';
import { isOutcome } from '../api/outcome.js';
import type { KqMessage } from '../api/received.js';
import { toError } from '../errors.js';
import type { KqPushCall, KqRun } from '../events/hooks.js';
import { batchResults } from '../failures/batch-results.js';
import { GROUP, PARTITION, SCOPE, topicAttributes } from './names.js';

/** Result of a handler: `done`, `retry` or `discard`. */
const OUTCOME = 'kq.message.outcome';

/** Writes the active trace and its baggage to the headers of a message. */
export function carryTrace(headers: Record<string, string>): void {
  propagation.inject(context.active(), headers);
}

/** Takes the error of a call, if any. */
type Ended = (error: Error | undefined) => void;

/** Pushes inside a span of the caller's trace. The messages carry this span. */
export function spanAroundPush<T extends Pushed | PushResult[]>(
  { topic, key, count, many }: KqPushCall,
  more: Attributes,
  next: () => Promise<T>,
  ended: Ended,
): Promise<T> {
  const span = trace.getTracer(SCOPE).startSpan(`send ${topic}`, {
    kind: SpanKind.PRODUCER,
    attributes: {
      ...topicAttributes(topic, 'send'),
      ...more,
      ...(typeof key === 'string' && { 'kafka.message.key': key }),
      ...(many && { 'messaging.batch.message_count': count }),
    },
  });
  // The first failure of many messages.
  const failure = (result: T) =>
    Array.isArray(result) ? result.find(({ error }) => error)?.error : undefined;
  return inside(trace.setSpan(context.active(), span), span, next, failure, ended);
}

/**
 * Calls a handler inside a span: for one message, in the trace of its push; for a batch, in a trace of its own that links to all
 * of theirs. The handler of one message gets the baggage of its push.
 */
export function spanAroundRun(
  run: KqRun,
  more: Attributes,
  next: () => unknown,
  ended: Ended,
): Promise<unknown> {
  const { group, messages, batch } = run;
  const [first] = messages as readonly [KqMessage];
  const carried = batch ? ROOT_CONTEXT : contextOf(first);
  const span = trace.getTracer(SCOPE).startSpan(
    `process ${first.topic}`,
    {
      kind: SpanKind.CONSUMER,
      links: linksOf(run),
      attributes: {
        ...topicAttributes(first.topic, 'process'),
        ...more,
        [GROUP]: group,
        [PARTITION]: String(first.partition),
        ...(batch ? { 'messaging.batch.message_count': messages.length } : messageAttributes(first)),
      },
    },
    carried,
  );
  return inside(
    trace.setSpan(carried, span),
    span,
    async () => next(),
    (result) => failureOf(span, run, result),
    ended,
  );
}

/** Ends the span with the result of `next`. An outcome the handler chose is no error. */
async function inside<T>(
  active: Context,
  span: Span,
  next: () => Promise<T>,
  failure: (result: T) => Error | undefined,
  ended: Ended,
): Promise<T> {
  let error: Error | undefined;
  try {
    const result = await context.with(active, next);
    error = failure(result);
    return result;
  } catch (thrown) {
    if (isOutcome(thrown)) span.setAttribute(OUTCOME, thrown['~outcome']);
    else error = toError(thrown);
    throw thrown;
  } finally {
    if (error) {
      span.recordException(error);
      span.setStatus({ code: SpanStatusCode.ERROR, message: error.message });
      span.setAttribute('error.type', errorType(error));
    }
    span.end();
    ended(error);
  }
}

/** Returns the code of our own errors, which is more specific than their name. */
export function errorType(error: Error): string {
  const { code } = error as { code?: unknown };
  return error.name === 'KqError' && typeof code === 'string' ? code : error.name;
}

/** Records the handler's result; returns the first error of a batch. */
function failureOf(span: Span, { messages, batch }: KqRun, result: unknown): Error | undefined {
  if (!batch || isOutcome(result)) {
    span.setAttribute(OUTCOME, isOutcome(result) ? result['~outcome'] : 'done');
    return undefined;
  }
  const results = batchResults(result, messages.length).filter((each) => each !== undefined);
  if (results.length > 0) span.setAttribute('kq.batch.failed', results.length);
  const first = results.find(({ thrown }) => !isOutcome(thrown));
  return first && toError(first.thrown);
}

function messageAttributes({ offset, key, keyBytes, value, attempt }: KqMessage): Attributes {
  // Binary keys have no standard representation.
  const isText = key !== null && Buffer.from(key).equals(keyBytes!);
  return {
    'kafka.offset': Number(offset),
    ...(isText && { 'kafka.message.key': key }),
    ...(value === null && { 'kafka.message.tombstone': true }),
    'kq.message.attempt': attempt,
  };
}

/** Returns links to the push of each message of a batch, and to the nest-dq run that brought the message back. */
function linksOf({ messages, batch }: KqRun): Link[] {
  const linked = batch ? messages.map((each) => trace.getSpanContext(contextOf(each))) : [];
  const active = trace.getActiveSpan();
  // An ended span is only active because something inside it, such as a `resume`, started the consumer.
  if (active?.isRecording()) linked.push(active.spanContext());
  const known = new Map(linked.filter((each) => each !== undefined).map((each) => [each.spanId, each]));
  return Array.from(known.values(), (each) => ({ context: each }));
}

/** Returns the context carried by the headers of a message. */
function contextOf(message: KqMessage): Context {
  return propagation.extract(ROOT_CONTEXT, message, {
    get: ({ headers }, name) => {
      const values = [headers[name] ?? []].flat().map(String);
      return values.length > 1 ? values : values[0];
    },
    keys: ({ headers }) => Object.keys(headers),
  });
}
