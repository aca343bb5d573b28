import { Inject, type InjectionToken } from '@nestjs/common';
import { ClusterTokens } from 'nest-handlers';
import { KqDeadLetters } from '../dead-letters/kq-dead-letters.js';
import { KqEvents } from '../events/events.js';
import { KqGroups } from '../groups/kq-groups.js';
import { KqHealth } from '../health/health.js';
import { KqPusher } from '../pusher/pusher.js';
import { MESSAGE_HANDLERS } from './message-handlers.js';

/** The parts of each cluster that an application injects, by their names in the runtime. */
const INJECTABLES = {
  pusher: KqPusher,
  events: KqEvents,
  health: KqHealth,
  groups: KqGroups,
  deadLetters: KqDeadLetters,
} as const;

/** What an application injects. For the cluster without a name the class itself is the token. */
export type KqInjectable = (typeof INJECTABLES)[keyof typeof INJECTABLES];

/** The token of each part of each cluster. */
export const kqTokens = new ClusterTokens(MESSAGE_HANDLERS, INJECTABLES);

/**
 * The injection token of a part of a cluster, for `app.get` and for providers made by a factory. Without a name it is the
 * class itself. `KQ_CONFIG`: the name is empty or no text, or `type` cannot be injected.
 * @param type The class. Default: `KqPusher`.
 */
export function getKqToken(cluster?: string, type: KqInjectable = KqPusher): InjectionToken {
  return kqTokens.checked(type, cluster);
}

/**
 * Injects a part of the cluster of that name: `@InjectKq('audit') audit: KqPusher`, `@InjectKq('audit', KqHealth) health:
 * KqHealth`. The cluster without a name needs no decorator.
 * @param type The class. Default: `KqPusher`.
 */
export function InjectKq(cluster: string, type?: KqInjectable): ParameterDecorator & PropertyDecorator {
  return Inject(getKqToken(cluster, type));
}
