import { Inject, type InjectionToken } from '@nestjs/common';
import { ClusterTokens } from 'nest-handlers';
import { KqDeadLetters } from '../dead-letters/kq-dead-letters.js';
import { KqEvents } from '../events/events.js';
import { KqGroups } from '../groups/kq-groups.js';
import { KqHealth } from '../health/health.js';
import { KqPusher } from '../pusher/pusher.js';
import { MESSAGE_HANDLERS } from './message-handlers.js';

/** Injectable parts of each cluster, by their names in the runtime. */
const INJECTABLES = {
  pusher: KqPusher,
  events: KqEvents,
  health: KqHealth,
  groups: KqGroups,
  deadLetters: KqDeadLetters,
} as const;

/** A part an application can inject. For the cluster without a name the class itself is the token. */
export type KqInjectable = (typeof INJECTABLES)[keyof typeof INJECTABLES];

/** Tokens of the parts of each cluster. */
export const kqTokens = new ClusterTokens(MESSAGE_HANDLERS, INJECTABLES);

/**
 * Returns the injection token of a part of a cluster, for `app.get` and provider factories. Without a name it is the class
 * itself. `KQ_CONFIG`: the name isn't a non-empty string, or `type` can't be injected.
 * @param type The class. Default: `KqPusher`.
 */
export function getKqToken(cluster?: string, type: KqInjectable = KqPusher): InjectionToken {
  return kqTokens.checked(type, cluster);
}

/**
 * Injects a part of the named cluster: `@InjectKq('audit') audit: KqPusher`, `@InjectKq('audit', KqHealth) health: KqHealth`.
 * The cluster without a name needs no decorator.
 * @param type The class. Default: `KqPusher`.
 */
export function InjectKq(cluster: string, type?: KqInjectable): ParameterDecorator & PropertyDecorator {
  return Inject(getKqToken(cluster, type));
}
