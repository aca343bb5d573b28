/** Messages as job payloads: JSON with readable strings. */
import { isUtf8 } from 'node:buffer';
import type { FailedMessage } from '../delays/delays.js';
import type { Headers, OutgoingMessage } from '../driver/message.js';

/** A plain string if the bytes are UTF-8. */
type StoredBytes = string | { readonly base64: string };

type StoredHeaders = Readonly<Record<string, StoredBytes | readonly StoredBytes[]>>;

/** Payload of a job that pushes a message. */
export interface StoredPush {
  readonly topic: string;
  readonly key: StoredBytes | null;
  readonly value: StoredBytes | null;
  readonly headers?: StoredHeaders;
  readonly partition?: number;
  readonly timestamp?: number;
}

/** Payload of a job that reruns a message. */
export interface StoredFailure {
  readonly topic: string;
  readonly partition: number;
  /** Decimal digits. */
  readonly offset: string;
  readonly timestamp: number;
  /** Number of runs before it became a job. */
  readonly runs: number;
  /** Absent, like value and headers, if the message is too large for a job and must be read from the log. */
  readonly key?: StoredBytes | null;
  readonly value?: StoredBytes | null;
  readonly headers?: StoredHeaders;
}

export function storedPush(
  topic: string,
  { key, value, headers, partition, timestamp }: OutgoingMessage,
): StoredPush {
  return {
    topic,
    key: stored(key),
    value: stored(value),
    ...(headers && { headers: storedHeaders(headers) }),
    ...(partition !== undefined && { partition }),
    ...(timestamp !== undefined && { timestamp }),
  };
}

export function pushOf({ key, value, headers, partition, timestamp }: StoredPush): OutgoingMessage {
  return {
    key: bytesOf(key),
    value: bytesOf(value),
    ...(headers && { headers: headersOf(headers) }),
    ...(partition !== undefined && { partition }),
    ...(timestamp !== undefined && { timestamp }),
  };
}

/** @param whole False: key, value and headers stay in the log, since any of them may be too large. */
export function storedFailure(
  { topic, partition, message, runs }: FailedMessage,
  whole: boolean,
): StoredFailure {
  const { offset, timestamp, key, value, headers } = message;
  const place = { topic, partition, offset: String(offset), timestamp, runs };
  return whole
    ? { ...place, key: stored(key), value: stored(value), headers: storedHeaders(headers) }
    : place;
}

/** Returns undefined if the message is only in the log. */
export function failureOf(failure: StoredFailure): FailedMessage | undefined {
  const { topic, partition, offset, timestamp, runs, key, value, headers = {} } = failure;
  if (key === undefined || value === undefined) return undefined;
  const message = {
    offset: BigInt(offset),
    timestamp,
    key: bytesOf(key),
    value: bytesOf(value),
    headers: headersOf(headers),
  };
  return { topic, partition, runs, message };
}

function stored(bytes: Buffer | null): StoredBytes | null {
  return bytes === null ? null : storedBytes(bytes);
}

function storedBytes(bytes: Buffer): StoredBytes {
  return isUtf8(bytes) ? bytes.toString() : { base64: bytes.toString('base64') };
}

function bytesOf(value: StoredBytes | null): Buffer | null {
  return value === null ? null : bufferOf(value);
}

function bufferOf(value: StoredBytes): Buffer {
  return typeof value === 'string' ? Buffer.from(value) : Buffer.from(value.base64, 'base64');
}

function storedHeaders(headers: Headers): StoredHeaders {
  const entries = Object.entries(headers).map(([name, values]) => {
    return [name, Buffer.isBuffer(values) ? storedBytes(values) : values.map(storedBytes)] as const;
  });
  return Object.fromEntries(entries);
}

function headersOf(stored: StoredHeaders): Headers {
  const headers = Object.create(null) as Record<string, Headers[string]>;
  for (const [name, values] of Object.entries(stored))
    headers[name] = isList(values) ? values.map(bufferOf) : bufferOf(values);
  return headers;
}

function isList(values: StoredBytes | readonly StoredBytes[]): values is readonly StoredBytes[] {
  return Array.isArray(values);
}
