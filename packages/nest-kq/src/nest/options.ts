import { Logger, type LoggerService } from '@nestjs/common';
import { resolveLog } from 'nest-handlers/log';
import type { Duration } from 'nest-handlers/time';
import type { ConnectionOptions } from 'node:tls';
import type { DriverFactory, SaslOptions } from '../driver/client-options.js';
import { checkOptions, milliseconds, wholeNumber } from '../api/checks.js';
import { isTopicName, TOPIC_NAMES } from '../api/topic-name.js';
import { KqError } from '../errors.js';
import { checkHooks, type KqHooks } from '../events/hooks.js';
import { resolvePusherOptions, type PusherOptions, type PusherSettings } from '../pusher/pusher-options.js';
import {
  resolveBrokers,
  resolveDriver,
  resolveSasl,
  resolveSsl,
  type BrokerOptions,
} from './broker-options.js';
import { DEFAULT_LOG_LEVELS, type KqLogLevels } from './log-levels.js';
import { LOG_ERRORS, asConfigError, checkBoolean, checkText, wrong } from './option-checks.js';

/** Options of `KqModule.forRoot`. Any mistake is `KQ_CONFIG`, and the application doesn't start. */
export interface KqOptions extends BrokerOptions {
  /** Consumer group of handlers that name none. @default none: such a handler is KQ_CONFIG; in memory 'nest-kq' */
  group?: string;
  /** False: this process only pushes; its handlers are checked but not run. @default true */
  consume?: boolean;
  /** Options of the pusher. @default see PusherOptions */
  pusher?: PusherOptions;
  /** Time without a heartbeat after which a group considers this process dead, 6 s to 30 minutes. @default '30s' */
  sessionTimeout?: Duration;
  /**
   * How long a group waits for its processes at a rebalance, 5 s to an hour. Running handlers have four fifths of it to finish
   * and get committed; messages of slower ones run again wherever their partition moves. @default '30s'
   */
  rebalanceTimeout?: Duration;
  /**
   * Static member name, unique among running processes, such as the pod name in a StatefulSet: if the process comes back within
   * `sessionTimeout`, it gets its partitions back without a rebalance. Without it, the process leaves its groups on shutdown and
   * others take over at once. Kafka 2.3 or later. @default none
   */
  groupInstanceId?: string;
  /** Minimum interval between commits of a group, 0 to a minute. A shutdown commits at once. @default '1s' */
  commitEvery?: Duration;
  /**
   * Memory for messages in this process, in bytes: fetched but not handled, and pushed but not answered, 1 MiB to 1 TiB. Half of
   * it is divided evenly among partitions, each of which may always hold one fetch (1 MiB, or one larger message); the rest goes
   * to whoever needs it. Pushes have their own limit, `pusher.buffer`. @default 67_108_864 (64 MiB)
   */
  memory?: number;
  /** How long a shutdown waits for running handlers before it aborts their signals, 0 to an hour. @default '10s' */
  shutdownTimeout?: Duration;
  /** Hooks around pushes and handlers, such as `openTelemetry()`; see `KqHooks`. @default [] */
  hooks?: readonly KqHooks[];
  /**
   * Logger for warnings and failures; lines of a named cluster start with its name. @default Nest's logger with the context 'Kq'
   */
  logger?: LoggerService;
  /**
   * Log levels of frequent events. @default { retries: 'warn', discards: 'warn', deadLetters: 'error', held: 'error',
   * joins: 'log', groups: 'warn', rebalances: 'debug', pushes: 'off' }
   */
  logLevels?: KqLogLevels;
}

/** Options of `KqModule`, checked and with defaults. */
export interface ResolvedOptions {
  /** Undefined for a log in memory. */
  readonly brokers: readonly string[] | undefined;
  /** `brokers` wasn't given. */
  readonly forgotten: boolean;
  readonly clientId: string;
  readonly ssl: boolean | ConnectionOptions;
  readonly sasl: SaslOptions | undefined;
  readonly rack: string | undefined;
  readonly connectionTimeout: number;
  readonly requestTimeout: number;
  /** Undefined for kafkajs. */
  readonly driver: DriverFactory | undefined;
  readonly group: string | undefined;
  readonly consume: boolean;
  readonly pusher: PusherSettings;
  readonly sessionTimeout: number;
  readonly rebalanceTimeout: number;
  readonly groupInstanceId: string | undefined;
  readonly commitEvery: number;
  readonly memory: number;
  readonly shutdownTimeout: number;
  readonly hooks: readonly KqHooks[];
  readonly logger: LoggerService;
  readonly logLevels: Required<KqLogLevels>;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const MIB = 2 ** 20;

const DEFAULTS = {
  clientId: 'nest-kq',
  ssl: false,
  connectionTimeout: 5 * SECOND,
  requestTimeout: 30 * SECOND,
  consume: true,
  pusher: {},
  sessionTimeout: 30 * SECOND,
  rebalanceTimeout: 30 * SECOND,
  commitEvery: SECOND,
  memory: 64 * MIB,
  shutdownTimeout: 10 * SECOND,
  hooks: [],
} satisfies KqOptions;

/** Default group in a log that no other process sees. */
const GROUP_IN_MEMORY = 'nest-kq';

/** All option names; the documentation is checked against them. */
export const OPTION_NAMES: readonly string[] = Object.keys({
  brokers: true,
  clientId: true,
  ssl: true,
  sasl: true,
  rack: true,
  connectionTimeout: true,
  requestTimeout: true,
  driver: true,
  group: true,
  consume: true,
  pusher: true,
  sessionTimeout: true,
  rebalanceTimeout: true,
  groupInstanceId: true,
  commitEvery: true,
  memory: true,
  shutdownTimeout: true,
  hooks: true,
  logger: true,
  logLevels: true,
} satisfies Record<keyof KqOptions, true>);

/** Checks the options and fills in the defaults; throws `KQ_CONFIG`. `cluster` is the cluster's name. */
export function resolveOptions(options: KqOptions, cluster?: string): ResolvedOptions {
  refuseName(options);
  checkOptions('KQ_CONFIG', 'KqModule', options, OPTION_NAMES);
  const given = { ...DEFAULTS, ...withoutUndefined(options) };
  const brokers = resolveBrokers(options);
  const time = (name: Times, least: number, most: number) =>
    milliseconds('KQ_CONFIG', `\`${name}\``, given[name], least, most);
  const log = { logger: new Logger('Kq'), logLevels: DEFAULT_LOG_LEVELS };
  return {
    brokers,
    forgotten: !('brokers' in options),
    clientId: checkText('clientId', given.clientId),
    ssl: resolveSsl(given.ssl),
    sasl: resolveSasl(given.sasl),
    rack: options.rack === undefined ? undefined : checkText('rack', options.rack),
    connectionTimeout: time('connectionTimeout', 100, 10 * MINUTE),
    requestTimeout: time('requestTimeout', SECOND, 10 * MINUTE),
    driver: resolveDriver(options.driver),
    group:
      options.group === undefined
        ? brokers
          ? undefined
          : GROUP_IN_MEMORY
        : checkText('group', options.group),
    consume: checkBoolean('consume', given.consume),
    pusher: asConfigError('`pusher`: ', () => resolvePusherOptions(given.pusher)),
    sessionTimeout: time('sessionTimeout', 6 * SECOND, 30 * MINUTE),
    rebalanceTimeout: time('rebalanceTimeout', 5 * SECOND, 60 * MINUTE),
    groupInstanceId: options.groupInstanceId === undefined ? undefined : checkName(options.groupInstanceId),
    commitEvery: time('commitEvery', 0, MINUTE),
    memory: wholeNumber('KQ_CONFIG', '`memory`', given.memory, MIB, MIB * MIB),
    shutdownTimeout: time('shutdownTimeout', 0, 60 * MINUTE),
    hooks: checkHooks(given.hooks),
    ...resolveLog(options, log, cluster, LOG_ERRORS),
  };
}

type Times = {
  [Name in keyof typeof DEFAULTS]: (typeof DEFAULTS)[Name] extends number ? Name : never;
}[keyof typeof DEFAULTS];

function refuseName(options: KqOptions): void {
  if (typeof options !== 'object' || options === null || !('name' in options) || options.name === undefined)
    return;
  throw new KqError(
    'KQ_CONFIG',
    '`name` identifies the cluster, so pass it next to `useFactory`, not in what that returns',
  );
}

/** Kafka's rule is the one for topics. */
function checkName(groupInstanceId: unknown): string {
  if (isTopicName(groupInstanceId)) return groupInstanceId;
  throw wrong('`groupInstanceId`', groupInstanceId, TOPIC_NAMES);
}

function withoutUndefined<T extends object>(options: T): T {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T;
}
