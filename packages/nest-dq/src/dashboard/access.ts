import { show, unknownName } from '../errors.js';
import { checkBoolean, wrong } from '../nest/option-checks.js';
import { checkBy } from '../operate/act.js';
import { ACT_NAMES } from './acts.js';
import { Refusal } from './failures.js';
import type { DqDashboardAccess, DqDashboardOptions } from './options.js';
import type { HttpRequest } from './http.js';
import type { ActName } from './wire.js';

/** Permissions of one viewer. */
export interface Viewer {
  readonly acts: ReadonlySet<ActName>;
  readonly payloads: boolean;
  /** The operator's name; undefined for the default of acts. */
  readonly by: string | undefined;
}

const NO_ACTS: ReadonlySet<ActName> = new Set();
const ALL_ACTS: ReadonlySet<ActName> = new Set(ACT_NAMES);

/**
 * Resolves with undefined if the viewer may see nothing. Rejects as `access` does, and with `DQ_CONFIG` if that returned an
 * invalid value.
 */
export async function viewerOf(
  { access, readOnly }: DqDashboardOptions,
  request: HttpRequest,
): Promise<Viewer | undefined> {
  const granted = access ? await access(request) : ({ acts: 'all', payloads: true } as const);
  const viewer = granted === 'none' ? undefined : checkAccess(granted);
  return viewer && readOnly ? { ...viewer, acts: NO_ACTS } : viewer;
}

function checkAccess(granted: Exclude<DqDashboardAccess, 'none'>): Viewer {
  if (granted === 'read') return { acts: NO_ACTS, payloads: false, by: undefined };
  if (typeof granted !== 'object' || granted === null || !('acts' in granted))
    throw wrong('the value returned by `access`', granted, "'none', 'read' or { acts, payloads, by }");
  const { acts, payloads = false, by } = granted;
  checkBoolean('payloads', payloads);
  if (by !== undefined) checkBy(by);
  return { acts: checkActs(acts), payloads, by };
}

function checkActs(acts: unknown): ReadonlySet<ActName> {
  if (acts === 'all') return ALL_ACTS;
  if (!Array.isArray(acts)) throw wrong('`acts` returned by `access`', acts, "'all' or an array of acts");
  const other = acts.findIndex((name) => !ALL_ACTS.has(name));
  if (other >= 0)
    throw unknownName('DQ_CONFIG', `act ${show(acts[other])} returned by \`access\``, ACT_NAMES);
  return new Set(acts as readonly ActName[]);
}

const THIS_MACHINE = /^(::1|(::ffff:)?127\.\d+\.\d+\.\d+)$/;
const ITS_NAMES = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/i;

/**
 * Whether a request comes from this machine. The host name in its address counts too, since the name of another site's page could
 * resolve to this machine.
 */
export function isFromHere({ socket, headers }: Pick<HttpRequest, 'socket' | 'headers'>): boolean {
  const { host } = headers;
  return THIS_MACHINE.test(socket.remoteAddress ?? '') && typeof host === 'string' && ITS_NAMES.test(host);
}

/** Headers that proxies add to requests. */
const FORWARDED = /^(?:x-forwarded-.+|forwarded|via|x-real-ip|x-client-ip|cf-connecting-ip|true-client-ip)$/;

/** The header and its value which reveal that a request from this machine originates elsewhere. */
function signOfElsewhere(headers: HttpRequest['headers']): string | undefined {
  const shown = (name: string) => `${name}: ${show(headers[name])}`;
  const added = Object.keys(headers).find((name) => FORWARDED.test(name));
  if (added !== undefined) return shown(added);
  // A proxy may present itself as localhost; the browser's headers about the requesting page still name the outside.
  return ['origin', 'referer'].filter((name) => isForeign(headers[name])).map(shown)[0];
}

function isForeign(page: HttpRequest['headers'][string]): boolean {
  if (typeof page !== 'string') return false;
  return !URL.canParse(page) || !ITS_NAMES.test(new URL(page).host);
}

/** Throws a `Refusal` for a request from elsewhere, for a dashboard without access rules. */
export function refuseElsewhere(request: HttpRequest): void {
  const { socket, headers } = request;
  const sign = signOfElsewhere(headers);
  if (sign !== undefined) {
    const fact = `the header ${sign} shows that the request comes from another machine, for example through a proxy on this one`;
    const advice = 'set `access` or `guards` to admit others';
    throw new Refusal(
      403,
      'NOT_ALLOWED',
      `${fact}; without \`guards\` or \`access\` the dashboard serves only this machine: ${advice}`,
    );
  }
  if (isFromHere(request)) return;
  const from = `a request from ${show(socket.remoteAddress ?? '')} to the host ${show(headers.host)}`;
  const fact = `${from} is refused: without \`guards\` or \`access\` the dashboard serves only this machine, at localhost`;
  throw new Refusal(403, 'NOT_ALLOWED', fact);
}

/** A page of another site can't send it without this server's permission. */
const OWN_HEADER = 'x-nest-dq';

/** Throws a `Refusal` if a page of another site requests data, as far as the browser reports it. */
export function refuseForeignRead({ headers }: HttpRequest): void {
  const site = headers['sec-fetch-site'];
  if (site === undefined || site === 'same-origin' || site === 'none') return;
  throw crossSite('Sec-Fetch-Site', site, 'same-origin');
}

/** Throws a `Refusal` if a page of another site makes this viewer's browser perform an act. */
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
    throw crossSite('Origin', origin, `the origin of the host ${show(host)}`);
  }
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}

/** Without the port, which an origin leaves out. */
function hostInLowerCase(host: unknown): string {
  return typeof host === 'string' ? host.toLowerCase().replace(/:(80|443)$/, '') : '';
}

function crossSite(header: string, value: unknown, expected: string): Refusal {
  return new Refusal(403, 'CROSS_SITE', `the header ${header} is ${show(value)}: expected ${expected}`);
}
