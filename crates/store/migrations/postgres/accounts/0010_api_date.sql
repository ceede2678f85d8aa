-- The day as of which an account is answered, as text: what the interface gained later is left out. Null is the newest form.
alter table account add column api_date text collate "C";
