import type { Clock } from 'nest-handlers/time';
import { toError } from '../errors.js';
import { ForeignJson } from '../ledger/foreign-json.js';
import { isAboutData } from '../ledger/redis/connection.js';
import type { RedisLedger } from '../ledger/redis/redis-ledger.js';
import type { Fleet } from './fleet.js';
import { ACT_SCRIPTS, RedisActs } from './redis-acts.js';
import { EVENT_SCRIPTS, RedisEventLog } from './redis-event-log.js';
import { HISTORY_SCRIPTS, RedisHistory } from './redis-history.js';
import { PRESENCE_SCRIPTS, RedisPresence } from './redis-presence.js';
import { PLAN_SCRIPTS, RedisSeriesPlans } from './redis-series-plans.js';
import { RedisSeriesRuns, SERIES_SCRIPTS } from './redis-series-runs.js';

export const FLEET_SCRIPTS = {
  ...PRESENCE_SCRIPTS,
  ...HISTORY_SCRIPTS,
  ...ACT_SCRIPTS,
  ...EVENT_SCRIPTS,
  ...SERIES_SCRIPTS,
  ...PLAN_SCRIPTS,
};

/** The fleet of all processes of one prefix, in the Redis of their ledger. */
export class RedisFleet implements Fleet {
  readonly presence: RedisPresence;
  readonly history: RedisHistory;
  readonly acts: RedisActs;
  readonly eventLog: RedisEventLog;
  readonly seriesRuns: RedisSeriesRuns;
  readonly seriesPlans: RedisSeriesPlans;

  constructor(ledger: RedisLedger, clock: Clock, warn: (message: string) => void) {
    const { sharedBase } = ledger;
    const foreign = new ForeignJson(warn);
    const now = () => ledger.now();
    ledger.define(FLEET_SCRIPTS);
    const call: RedisLedger['callShared'] = (script, keys, json) => ledger.callShared(script, keys, json);
    this.presence = new RedisPresence(sharedBase, clock, foreign, (script, keys, json) =>
      call(script, keys, json).catch((thrown: unknown) => {
        // Nobody waits for the answer to an announcement. That Redis is away is reported elsewhere.
        const { message, cause } = toError(thrown);
        if (isAboutData(toError(cause))) foreign.warnOnce('the data of processes', message);
        throw thrown;
      }),
    );
    this.history = new RedisHistory(sharedBase, now, foreign, call);
    this.acts = new RedisActs(now, (script, json) => call(script, [`${sharedBase}:acts`], json));
    const eventKeys = [`${sharedBase}:events`, `${sharedBase}:event-count`];
    this.eventLog = new RedisEventLog(now, clock, (script, json) => call(script, eventKeys, json));
    const seriesKeys = [`${sharedBase}:series`, `${sharedBase}:series-runs`];
    this.seriesRuns = new RedisSeriesRuns(now, (script, json) => call(script, seriesKeys, json));
    const planKeys = ['plans', 'plan-names', 'plan-checks', 'plans-missed', 'plan-runs'].map(
      (name) => `${sharedBase}:${name}`,
    );
    this.seriesPlans = new RedisSeriesPlans(now, (script, json) => call(script, planKeys, json));
  }
}
