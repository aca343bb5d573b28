import { Inject, type InjectionToken } from '@nestjs/common';
import { KqDeadLetters } from '../dead-letters/kq-dead-letters.js';
import { KqError, show, wrongValue } from '../errors.js';
import { KqEvents } from '../events/events.js';
import { KqGroups } from '../groups/kq-groups.js';
import { KqHealth } from '../health/health.js';
import { KqPusher } from '../pusher/pusher.js';

/** The parts of each cluster that an application injects. */
export const INJECTABLES = [KqPusher, KqEvents, KqHealth, KqGroups, KqDeadLetters] as const;

/** What an application injects. For the cluster without a name the class itself is the token. */
export type KqInjectable = (typeof INJECTABLES)[number];

/** The parts that only the module itself injects. */
export type KqPart = 'runtime' | 'lifecycle';

/** The token of one part of one cluster. Two clusters in an application share none. */
export function kqToken(what: KqInjectable | KqPart, cluster?: string): InjectionToken {
  if (typeof what === 'string') return `nest-kq:${what}:${cluster ?? ''}`;
  return cluster === undefined ? what : `nest-kq:${what.name}:${cluster}`;
}

/**
 * The injection token of a part of a cluster, for `app.get` and for providers made by a factory. Without a name it is the
 * class itself. `KQ_CONFIG`: the name is empty or no text, or `type` cannot be injected.
 * @param type The class. Default: `KqPusher`.
 */
export function getKqToken(cluster?: string, type: KqInjectable = KqPusher): InjectionToken {
  if (!INJECTABLES.includes(type)) {
    const known = INJECTABLES.map(({ name }) => name).join(', ');
    throw new KqError('KQ_CONFIG', `${show(type)} cannot be injected of a cluster: expected one of ${known}`);
  }
  return kqToken(type, cluster === undefined ? undefined : checkClusterName(cluster));
}

/**
 * Injects a part of the cluster of that name: `@InjectKq('audit') audit: KqPusher`, `@InjectKq('audit', KqHealth) health:
 * KqHealth`. The cluster without a name needs no decorator.
 * @param type The class. Default: `KqPusher`.
 */
export function InjectKq(cluster: string, type?: KqInjectable): ParameterDecorator & PropertyDecorator {
  return Inject(getKqToken(cluster, type));
}

/** `KQ_CONFIG` unless it is a text that is not empty. */
export function checkClusterName(name: unknown): string {
  if (typeof name === 'string' && name.trim() !== '') return name;
  throw wrongValue('KQ_CONFIG', 'the name of a cluster', name, 'a text that is not empty');
}

/** A cluster as messages call it. */
export function showCluster(name: string | undefined): string {
  return name === undefined ? 'the one without a name' : show(name);
}
