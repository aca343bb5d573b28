import { Inject, type InjectionToken } from '@nestjs/common';
import { DqConsumer } from '../consumer/consumer.js';
import { DqError, show, wrongValue } from '../errors.js';
import { DqEvents } from '../events/events.js';
import { DqHealth } from '../health/health.js';
import { DqControl } from '../operate/control.js';
import { DqInspector } from '../operate/inspector.js';
import { DqDeadLetters } from '../producer/dead-letters.js';
import { DqProducer } from '../producer/producer.js';

/** The parts of each cluster that an application injects. */
export const INJECTABLES = [
  DqProducer,
  DqConsumer,
  DqDeadLetters,
  DqInspector,
  DqControl,
  DqEvents,
  DqHealth,
] as const;

/** What an application injects. For the cluster without a name the class itself is the token. */
export type DqInjectable = (typeof INJECTABLES)[number];

/** The parts that only the module itself injects. */
export type DqPart = 'runtime' | 'lifecycle';

/** The token of one part of one cluster. Two clusters in an application share none. */
export function dqToken(what: DqInjectable | DqPart, cluster?: string): InjectionToken {
  if (typeof what === 'string') return `nest-dq:${what}:${cluster ?? ''}`;
  return cluster === undefined ? what : `nest-dq:${what.name}:${cluster}`;
}

/**
 * The injection token of a part of a cluster, for `app.get` and for providers made by a factory. Without a name it is the
 * class itself. `DQ_CONFIG`: the name is empty or no text, or `type` cannot be injected.
 * @param type The class. Default: `DqProducer`.
 */
export function getDqToken(cluster?: string, type: DqInjectable = DqProducer): InjectionToken {
  if (!INJECTABLES.includes(type)) {
    const known = INJECTABLES.map(({ name }) => name).join(', ');
    throw new DqError('DQ_CONFIG', `${show(type)} cannot be injected of a cluster: expected one of ${known}`);
  }
  return dqToken(type, cluster === undefined ? undefined : checkClusterName(cluster));
}

/**
 * Injects a part of the cluster of that name: `@InjectDq('mails') mails: DqProducer`,
 * `@InjectDq('mails', DqConsumer) consumer: DqConsumer`. The cluster without a name needs no decorator.
 * @param type The class. Default: `DqProducer`.
 */
export function InjectDq(cluster: string, type?: DqInjectable): ParameterDecorator & PropertyDecorator {
  return Inject(getDqToken(cluster, type));
}

/** `DQ_CONFIG` unless it is a text that is not empty. */
export function checkClusterName(name: unknown): string {
  if (typeof name === 'string' && name.trim() !== '') return name;
  throw wrongValue('DQ_CONFIG', 'the name of a cluster', name, 'a text that is not empty');
}

/** A cluster as messages call it. */
export function showCluster(name: string | undefined): string {
  return name === undefined ? 'the one without a name' : show(name);
}
