/** The name of our tracer and our meter. */
export const SCOPE = 'nest-dq';

/**
 * The conventions' attributes of a tube: https://opentelemetry.io/docs/specs/semconv/messaging/. `messaging.system` is what they
 * had before `messaging.system.name`.
 */
export function tubeAttributes(tube: string, operation: 'schedule' | 'process') {
  return {
    'messaging.system.name': 'nest_dq',
    'messaging.system': 'nest_dq',
    'messaging.destination.name': tube,
    'messaging.operation.name': operation,
    'messaging.operation.type': operation === 'schedule' ? 'send' : 'process',
  };
}
