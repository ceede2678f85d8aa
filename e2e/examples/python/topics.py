from longbridge.openapi import Config, ContentContext

content = ContentContext(Config.from_apikey_env())
text = "# Lots\n\nOf **700.HK** and others."
number = content.create_topic("Lot sizes", text, topic_type="article", hashtags=["lots"])
content.create_topic_reply(number, "One more thing.")
print(content.topics("700.HK")[0].title)
print(len(content.list_topic_replies(number)), "reply")
