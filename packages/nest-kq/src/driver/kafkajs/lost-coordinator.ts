/** Lets a member look for its group's coordinator again once the broker that it knows does not answer. */
import kafkajs from 'kafkajs';
import type { Coordinator } from './group-requests.js';
import { isUnreached } from './kafkajs-errors.js';

/** As a broker answers that coordinates the group no more; then kafkajs asks who does, and joins there. */
const MOVED = { type: 'NOT_COORDINATOR_FOR_GROUP', code: 16, retriable: true };

/**
 * By itself kafkajs beats at a dead broker for a minute. Meanwhile nothing is committed, and the new coordinator, which gets
 * no sign of life, gives the partitions to others.
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
