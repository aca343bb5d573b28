import { show } from '../errors.js';
import { Refusal } from './failures.js';
import type { HttpRequest } from './http.js';

/** A page from elsewhere cannot send it without the leave of this server. */
const OWN_HEADER = 'x-nest-dq';

/** That a page of another site asks for data, where the browser tells. `Refusal`. */
export function refuseForeignRead({ headers }: HttpRequest): void {
  const site = headers['sec-fetch-site'];
  if (site === undefined || site === 'same-origin' || site === 'none') return;
  throw crossSite('Sec-Fetch-Site', site, 'same-origin');
}

/** That a page of another site makes this viewer's browser do an act. `Refusal`. */
export function refuseForeignAct({ headers }: HttpRequest): void {
  const type = headers['content-type'];
  if (typeof type !== 'string' || !/^application\/json\s*(;|$)/i.test(type))
    throw crossSite('Content-Type', type, 'application/json');
  if (headers[OWN_HEADER] !== '1') throw crossSite('X-Nest-Dq', headers[OWN_HEADER], '1');
  const { origin, host } = headers;
  const site = headers['sec-fetch-site'];
  if (site !== undefined) {
    if (site !== 'same-origin') throw crossSite('Sec-Fetch-Site', site, 'same-origin');
  } else if (typeof origin !== 'string' || hostOf(origin) !== hostInLowerCase(host)) {
    throw crossSite('Origin', origin, `that of the host ${show(host)}`);
  }
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}

/** Without the port that an origin leaves out. */
function hostInLowerCase(host: unknown): string {
  return typeof host === 'string' ? host.toLowerCase().replace(/:(80|443)$/, '') : '';
}

function crossSite(header: string, value: unknown, expected: string): Refusal {
  return new Refusal(403, 'CROSS_SITE', `the header ${header} is ${show(value)}: expected ${expected}`);
}
