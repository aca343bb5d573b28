import type { CanActivate, ModuleMetadata, Type } from '@nestjs/common';
import { DqError, show, unknownName } from '../errors.js';
import { checkBoolean, wrong } from '../nest/option-checks.js';
import { dqTokens } from '../nest/tokens.js';
import type { ActName, EnvironmentWire } from './wire.js';

/** Permissions of a viewer. `none`: nothing, not even the page. `read`: everything but payloads, without any acts. */
export type DqDashboardAccess =
  | 'none'
  | 'read'
  | {
      /** The permitted acts; `all` for everything. */
      readonly acts: 'all' | readonly ActName[];
      /** Whether the viewer may see payloads, as `redact` returns them. @default false */
      readonly payloads?: boolean;
      /** Name of the viewer in the event `operated`: 1 to 200 characters. @default host and process */
      readonly by?: string;
    };

/** The job whose payload `redact` gets. */
export interface DqDashboardJob {
  /** Name of the tube without the prefix. */
  readonly tube: string;
  /** Id of the job. */
  readonly id: string;
  /** Absent for a plain job. */
  readonly key?: string;
  /** Only present for a message. */
  readonly topic?: undefined;
}

/** The message whose value and headers `redact` gets: a dead letter of Kafka. */
export interface DqDashboardMessage {
  /** Original topic of the message, before it became a dead letter. */
  readonly topic: string;
  /** Absent if it has none. */
  readonly key?: string;
  /** Only present for a job. */
  readonly tube?: undefined;
}

/** A label for all pages, so that nobody takes one environment for another. */
export interface DqDashboardEnvironment {
  /** 1 to 40 characters. */
  readonly name: string;
  /** How loud it is: red, yellow, or quiet. @default `danger` for `production`, `prod` and `live`, otherwise `calm` */
  readonly tone?: 'danger' | 'warning' | 'calm';
}

/** The options evaluated on each request. A wrong one is `DQ_CONFIG`, and the application doesn't start. */
export interface DqDashboardOptions {
  /**
   * Returns what the viewer making a request may see and do, after the guards have let them pass. It gets the request of Express
   * or Fastify. What it throws is answered by the application's exception filters, and the viewer sees nothing.
   * @default everything for viewers admitted by the guards; in development, for everybody on this machine
   */
  access?: (request: any) => DqDashboardAccess | Promise<DqDashboardAccess>;
  /**
   * Gets a payload before a viewer does, and returns what they see of it: anything JSON can represent, or a Buffer, shown as
   * bytes. For a dead letter of Kafka, the payload is `{ headers, value }`.
   * @default the payload as it is
   */
  redact?: (payload: unknown, of: DqDashboardJob | DqDashboardMessage) => unknown;
  /** Forbids all acts, whatever `access` returns. @default false */
  readOnly?: boolean;
  /** Environment of the application, such as `production`: shown on every page and in its title. @default none */
  environment?: string | DqDashboardEnvironment;
}

/** Options of the module itself. */
export interface DqDashboardExtras {
  /** Path below the global prefix of the application. @default '/dq' */
  path?: string;
  /** Guards of all its routes, after the application's own: objects, or classes whose dependencies `imports` provides. @default none */
  guards?: readonly (CanActivate | Type<CanActivate>)[];
  /** Decorators of its controller, such as `SkipThrottle()` of @nestjs/throttler. @default none */
  decorators?: readonly ClassDecorator[];
  /** Modules that provide what the guards inject. @default none */
  imports?: ModuleMetadata['imports'];
  /** The name of the cluster it shows. @default the unnamed one */
  cluster?: string;
}

/** All extras, since Nest has to distinguish them from the options. */
export const NO_EXTRAS: { readonly [Name in keyof Required<DqDashboardExtras>]: undefined } = {
  path: undefined,
  guards: undefined,
  decorators: undefined,
  imports: undefined,
  cluster: undefined,
};
export const OPTION_NAMES = ['access', 'redact', 'readOnly', 'environment'] as const;

/** Segments of plain characters, none of which a router treats as a pattern. */
const PATH = /^(\/[\w~-]+)+$/;

/** The checked extras, known when the module is defined. */
export interface ResolvedExtras {
  readonly path: string;
  readonly guards: readonly (CanActivate | Type<CanActivate>)[];
  readonly decorators: readonly ClassDecorator[];
  readonly cluster: string | undefined;
}

/** Throws `DQ_CONFIG`. */
export function resolveExtras(extras: DqDashboardExtras): ResolvedExtras {
  const { path = '/dq', guards = [], decorators = [], cluster } = extras;
  const rooted = typeof path === 'string' && !path.startsWith('/') ? `/${path}` : path;
  if (typeof rooted !== 'string' || !PATH.test(rooted))
    throw wrong('`path`', path, 'a path of letters, digits, _, ~ and -, such as /dq or /admin/dq');
  checkList('guards', guards, 'classes or objects with a canActivate method', isGuard);
  checkList('decorators', decorators, 'class decorators', (each) => typeof each === 'function');
  dqTokens.checkName(cluster);
  return { path: rooted, guards, decorators, cluster };
}

/** Environments in which everybody on this machine may see and do everything by default. Undefined means that `NODE_ENV` isn't set. */
const DEVELOPMENT: readonly unknown[] = [undefined, '', 'development', 'test'];

/**
 * Throws `DQ_CONFIG` if an option is wrong, or access rules are missing outside of development. Returns whether they are missing
 * in development.
 */
export function checkOptions(
  options: DqDashboardOptions,
  { guards, path }: ResolvedExtras,
): { open: boolean } {
  if (typeof options !== 'object' || options === null)
    throw wrong('the value returned by the factory of DqDashboardModule', options, 'an options object');
  const known: readonly string[] = OPTION_NAMES;
  for (const name of Object.keys(options)) {
    if (name in NO_EXTRAS)
      throw new DqError(
        'DQ_CONFIG',
        `the factory returned \`${name}\`: pass it to forRootAsync, next to the factory`,
      );
    if (!known.includes(name))
      throw unknownName('DQ_CONFIG', `option ${show(name)} of DqDashboardModule`, [
        ...known,
        ...Object.keys(NO_EXTRAS),
      ]);
  }
  const { access, redact, readOnly } = options;
  checkFunction('access', access);
  checkFunction('redact', redact);
  if (readOnly !== undefined) checkBoolean('readOnly', readOnly);
  environmentOf(options);
  const open = access === undefined && guards.length === 0;
  const environment = process.env['NODE_ENV'];
  if (open && !DEVELOPMENT.includes(environment)) {
    const fact = `NODE_ENV is ${show(environment)}, and the dashboard at ${path} has neither \`guards\` nor \`access\`, so anyone could revoke any job`;
    throw new DqError('DQ_CONFIG', `${fact}: set one of the two`);
  }
  return { open };
}

const TONES = ['danger', 'warning', 'calm'] as const;
const MAX_NAME = 40;
const DANGEROUS = /^(prod|production|live)$/i;

/** Returns the label with its tone; undefined if there is none. Throws `DQ_CONFIG`. */
export function environmentOf({ environment }: DqDashboardOptions): EnvironmentWire | undefined {
  if (environment === undefined) return undefined;
  const given = typeof environment === 'string' ? { name: environment } : environment;
  const { name, tone = DANGEROUS.test(String(name)) ? 'danger' : 'calm' } = given ?? {};
  if (typeof name !== 'string' || name.trim() === '' || name.length > MAX_NAME)
    throw wrong('`environment`', environment, `a name of 1 to ${MAX_NAME} characters, or { name, tone }`);
  if (!TONES.includes(tone)) throw wrong('`environment.tone`', tone, `one of ${TONES.join(', ')}`);
  return { name, tone };
}

function isGuard(guard: unknown): boolean {
  if (typeof guard === 'function') return true;
  return (
    typeof guard === 'object' &&
    guard !== null &&
    'canActivate' in guard &&
    typeof guard.canActivate === 'function'
  );
}

function checkList(name: string, list: unknown, expected: string, isOne: (each: unknown) => boolean): void {
  if (!Array.isArray(list)) throw wrong(`\`${name}\``, list, `an array of ${expected}`);
  const other = list.findIndex((each) => !isOne(each));
  if (other >= 0) throw wrong(`\`${name}[${other}]\``, list[other], `one of ${expected}`);
}

function checkFunction(name: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'function') throw wrong(`\`${name}\``, value, 'a function');
}
