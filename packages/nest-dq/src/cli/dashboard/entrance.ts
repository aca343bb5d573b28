import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isFromHere } from '../../dashboard/access.js';
import { show } from '../../errors.js';

const HEADERS = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Content-Type': 'text/plain; charset=utf-8',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
};

/** An unguessable string. */
class Secret {
  readonly text = randomBytes(32).toString('base64url');
  private readonly digest = digestOf(this.text);

  /** Compares in constant time. */
  is(given: string): boolean {
    return timingSafeEqual(digestOf(given), this.digest);
  }
}

/**
 * Admits one browser on this machine: the first that opens the address. The token in the address is then used up and replaced by
 * a cookie. Runs before all routes, as middleware in Express and Fastify.
 */
export class Entrance {
  /**
   * Base path of everything behind the entrance. A browser sends a cookie to every port of a host, including other people's
   * servers. So the cookie is limited to this path, which they don't know.
   */
  readonly path = `/${randomBytes(9).toString('base64url')}`;
  private readonly token = new Secret();
  private readonly session = new Secret();
  private isUsed = false;

  /** Returns the address to open in a browser. */
  address(port: number): string {
    return `http://127.0.0.1:${port}${this.path}/?token=${this.token.text}`;
  }

  readonly admit = (request: IncomingMessage, response: ServerResponse, next: () => void): void => {
    if (!isFromHere(request)) {
      const given = `The request is for host ${show(request.headers.host)}`;
      return refuse(
        response,
        `${given}: expected 127.0.0.1 or localhost, on the machine that runs the dashboard.`,
      );
    }
    const token = tokenIn(request);
    const cookie = `nest-dq-${request.socket.localPort}`;
    const isIn = cookiesIn(request, cookie).some((given) => this.session.is(given));
    if (isIn) return token === undefined ? next() : this.lead(response);
    if (token === undefined)
      return refuse(
        response,
        'The dashboard only serves the browser that opened its URL. Open the URL that the command printed; if another browser has opened it, use that one, or restart the command.',
      );
    if (!this.token.is(token))
      return refuse(
        response,
        'The token in this URL is wrong, or from an earlier start: expected the URL that the command printed last.',
      );
    if (this.isUsed)
      return refuse(
        response,
        'This URL works only once, and has been used. Use the browser that opened it, or restart the command for a new URL.',
      );
    this.isUsed = true;
    const attributes = `Path=${this.path}; HttpOnly; SameSite=Strict`;
    response.setHeader('Set-Cookie', `${cookie}=${this.session.text}; ${attributes}`);
    this.lead(response);
  };

  /** Redirects to the page, at an address without the token. */
  private lead(response: ServerResponse): void {
    response.writeHead(302, { ...HEADERS, Location: `${this.path}/` }).end();
  }
}

function refuse(response: ServerResponse, why: string): void {
  response.writeHead(403, HEADERS).end(`${why}\n`);
}

/** Returns a token only for GET, so that a link checker's HEAD, for example, doesn't use it up. */
function tokenIn({ method, url = '' }: IncomingMessage): string | undefined {
  const from = url.indexOf('?');
  if (method !== 'GET' || from < 0) return undefined;
  return new URLSearchParams(url.slice(from)).get('token') ?? undefined;
}

/** Returns the values of all cookies with this name: other servers on the host may have set one too. */
function cookiesIn({ headers }: IncomingMessage, name: string): string[] {
  const pairs = (headers.cookie ?? '').split(';').map((pair) => pair.trim());
  return pairs.filter((pair) => pair.startsWith(`${name}=`)).map((pair) => pair.slice(name.length + 1));
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
