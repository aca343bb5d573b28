import type { InjectionToken } from '@nestjs/common';
import { DqConsumer } from '../consumer/consumer.js';
import { DqDeadLetters } from '../producer/dead-letters.js';
import { DqProducer } from '../producer/producer.js';

/** What an application injects; of the default cluster by the class itself. */
export type DqInjectable = typeof DqProducer | typeof DqConsumer | typeof DqDeadLetters;

/** What only the module itself injects. */
export type DqPart = 'options' | 'clock' | 'runtime' | 'explorer' | 'lifecycle';

/** The token of one thing of one cluster, so that two clusters in an application never share a token. */
export function dqToken(what: DqInjectable | DqPart, cluster?: string): InjectionToken {
  if (typeof what === 'string') return `nest-dq:${what}:${cluster ?? ''}`;
  return cluster === undefined ? what : `nest-dq:${what.name}:${cluster}`;
}
