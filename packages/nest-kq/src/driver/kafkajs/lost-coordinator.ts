/** Makes a member look up its group's coordinator again once the known broker doesn't answer. */
import kafkajs from 'kafkajs';
import type { Coordinator } from './group-requests.js';
import { isUnreached } from './kafkajs-errors.js';

/** The error of a broker that is no longer the coordinator; kafkajs then looks up the new one and joins there. */
const MOVED = { type: 'NOT_COORDINATOR_FOR_GROUP', code: 16, retriable: true };

/**
 * Otherwise kafkajs sends heartbeats to a dead broker for a minute. Meanwhile nothing is committed, and the new coordinator,
 * which gets no heartbeats, reassigns the partitions.
 */
export function leaveOnceDead(coordinator: Coordinator): void {
  const beat = coordinator.heartbeat.bind(coordinator);
  coordinator.heartbeat = async (request) => {
    try {
      return await beat(request);
    } catch (error) {
      if (!isUnreached(error)) throw error;
      const moved = new Error(`the coordinator cannot be reached: ${error.message}`, { cause: error });
      throw new kafkajs.KafkaJSProtocolError(Object.assign(moved, MOVED));
    }
  };
}
