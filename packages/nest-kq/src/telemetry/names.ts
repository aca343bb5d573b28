import type { Attributes } from '@opentelemetry/api';

/** Name of our tracer and meter. */
export const SCOPE = 'nest-kq';

/**
 * Returns the attributes of a topic per semantic conventions 1.45: https://opentelemetry.io/docs/specs/semconv/messaging/kafka/
 * `messaging.system` is the predecessor of `messaging.system.name`.
 */
export function topicAttributes(topic: string, operation: 'send' | 'process'): Attributes {
  return {
    'messaging.system.name': 'kafka',
    'messaging.system': 'kafka',
    'messaging.destination.name': topic,
    'messaging.operation.name': operation,
    'messaging.operation.type': operation,
  };
}

export const GROUP = 'messaging.consumer.group.name';
export const PARTITION = 'messaging.destination.partition.id';
