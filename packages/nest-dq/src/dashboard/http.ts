// The HTTP that Express and Fastify have in common.
import type { ServerResponse } from 'node:http';
import type { HttpServer } from '@nestjs/common';

/** A request of Express or Fastify. */
export interface HttpRequest {
  readonly url: string;
  /** The original URL, where a router of Express has cut `url`. */
  readonly originalUrl?: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly params: Readonly<Record<string, string | undefined>>;
  readonly query: unknown;
  readonly body?: unknown;
  readonly socket: { readonly remoteAddress?: string | undefined };
}

/** A response of Express, which is Node's own, or a reply of Fastify, which wraps Node's. */
export type HttpResponse =
  | ServerResponse
  | {
      readonly raw: ServerResponse;
      /** Keeps Fastify from answering. */
      hijack(): void;
      getHeaders(): Record<string, string | number | string[] | undefined>;
    };

/** An answer sent at once. */
export interface Answer {
  /** @default 200 */
  readonly status?: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Nothing from elsewhere, and nothing inline, may run or be shown in the page. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'self'",
].join('; ');

const SECURITY = {
  'Content-Security-Policy': POLICY,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'same-origin',
};

/** For data. */
const NOT_STORED = { 'Cache-Control': 'no-store' };

/** A JSON answer. Throws as `JSON.stringify` does. */
export function jsonAnswer(data: unknown, status = 200): Answer {
  const headers = { ...NOT_STORED, 'Content-Type': 'application/json; charset=utf-8' };
  return { status, headers, body: JSON.stringify(data) };
}

/** Sends through the application's adapter, so that its hooks and middleware see the answer like any other. */
export function send(adapter: HttpServer, response: HttpResponse, answer: Answer): void {
  const headers = { ...SECURITY, ...answer.headers };
  for (const [name, value] of Object.entries(headers)) adapter.setHeader!(response, name, value);
  void adapter.reply(response, answer.body, answer.status ?? 200);
}

/** Characters buffered for a viewer who doesn't read. */
const MAX_WAITING = 1_000_000;

/** A streamed answer. It bypasses the application's adapter: interceptors and compression would hold it back. */
export class StreamedAnswer {
  private readonly raw: ServerResponse;
  /** Whether the viewer has gone, or the answer has ended. */
  gone = false;

  constructor(
    private readonly response: HttpResponse,
    /** Called once. */
    private readonly left: () => void,
  ) {
    this.raw = 'raw' in response ? response.raw : response;
    this.gone = this.raw.destroyed;
    this.raw.once('close', () => {
      this.gone = true;
      this.left();
    });
  }

  /** Call it before anything is written. */
  open(type: string): void {
    if (this.gone) return;
    const others = 'raw' in this.response ? this.response.getHeaders() : {};
    if ('raw' in this.response) this.response.hijack();
    const headers = {
      ...SECURITY,
      'Cache-Control': 'no-store, no-transform',
      'Content-Type': type,
      'X-Accel-Buffering': 'no', // nginx would hold it back too
    };
    for (const [name, value] of Object.entries({ ...others, ...headers })) {
      if (value !== undefined) this.raw.setHeader(name, value);
    }
    this.raw.statusCode = 200;
    this.raw.flushHeaders();
  }

  write(text: string): void {
    if (!this.gone) this.raw.write(text);
  }

  /** Whether the viewer reads more slowly than is written. */
  get isBehind(): boolean {
    return this.raw.writableLength > MAX_WAITING;
  }

  end(): void {
    if (!this.gone) this.raw.end();
  }
}
