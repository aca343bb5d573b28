// Every kind of delayed job of this application, with its payload. Payloads name rows and carry no state:
// a handler reads the row again, for much can happen in thirty days.
import { defineTube } from 'nest-dq';

export interface OrderJob {
  orderId: string;
}

export interface UserJob {
  userId: string;
}

export interface DeletionJob {
  resourceId: string;
}

export const OrderUnpaid = defineTube<OrderJob>('order.unpaid');
export const WelcomeMail = defineTube<UserJob>('mail.welcome');
export const ResourceDeletion = defineTube<DeletionJob>('resource.delete');
